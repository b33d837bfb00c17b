-- The patched likwid-topology with the real gputopo beside it, for every modelled GPU: what it prints is what
-- `gputopo show` says.
package.path = ROOT .. "/tests/likwid/?.lua;" .. ROOT .. "/plugin/likwid/?.lua;" .. package.path
local check = require("check")
local host = require("host")
host.needs(STOCK)
local json = require("likwid_gputopo").internal

-- No gputopo on PATH: the one in the copy's own folder is found.
local path = "PATH=/usr/bin:/bin"

-- Fields of the CSV rows below the first table's header, keyed by memory.
local function rows_of(csv)
    local header, rows = nil, {}
    for line in csv:gmatch("[^\n]+") do
        local cells = {}
        for cell in (line .. ","):gmatch("([^,]*),") do cells[#cells + 1] = cell end
        if cells[1] == "Memory" then
            header = cells
        elseif header then
            local row = {}
            for index, name in ipairs(header) do row[name] = cells[index] end
            rows[#rows + 1] = row
        end
    end
    return rows
end

local models = 0
for _, device in ipairs(json.decode((host.run(GPUTOPO, "devices --format json")))) do
    local name = device.device:match("^sim:(.+)$")
    if name then
        models = models + 1
        check.run(name, function()
            local environment = {path, "GPUTOPO_SIMULATE=" .. name}
            local topology = json.decode((host.run(GPUTOPO, "show --format json", environment)))
            local csv, status = host.run(PATCHED, "-O", environment)
            check.equal(status, 0)
            local rows = rows_of(csv)
            check.equal(#rows, #topology.memories, "rows")
            for index, memory in ipairs(topology.memories) do
                local row = rows[index]
                local function same(field, attribute, unit)
                    local estimate = memory.attributes[attribute]
                    local known = estimate and estimate.unit == unit and estimate.value ~= json.null
                    check.equal(tonumber(row[field]), known and estimate.value or nil, memory.id .. " " .. attribute)
                end
                check.equal(row.Memory, memory.id)
                check.equal(row.Scope, memory.scope or "-", memory.id)
                same("Size [B]", "size", "B")
                same("Line [B]", "line_size", "B")
                same("Latency [cycles]", "latency", "cycles")
                if memory.scope == "sm" then check.equal(tonumber(row["Instances per SM"]), memory.instances_per_scope, memory.id) end
            end
            local text = host.run(PATCHED, "-g", environment)
            local picture = text:match("\n(GPU 0: .*)$")
            check.that(picture, "no picture in " .. text)
            check.that(picture:find("^GPU 0: [^\n]+ %(simulated%)\n"), picture)
            check.that(picture:find(" " .. topology.gpu.sm_count .. " x SM ", 1, true), picture)
            for line in picture:gmatch("[^\n]+") do check.that(#line <= 100, line) end
        end)
    end
end
check.that(models > 0, "no modelled GPUs")

check.run("the documentation shows what is printed", function()
    local text = host.run(PATCHED, "-g", {path, "GPUTOPO_SIMULATE=h200"})
    local picture = text:match("\n(GPU 0: .*)\n$")
    for _, name in ipairs({"/README.md", "/docs/likwid.md"}) do
        check.that(check.read(ROOT .. name):find("```\n" .. picture .. "\n```", 1, true), name .. " has another picture than\n" .. picture)
    end
    local document = check.read(ROOT .. "/docs/likwid.md")
    for line in text:match("\nMemory  .-\n%-%-%-"):gmatch("[^\n]+") do
        check.that(document:find("\n" .. line, 1, true), "docs/likwid.md doesn't have: " .. line)
    end
end)

check.run("an unknown model", function()
    local environment = {path, "GPUTOPO_SIMULATE=nosuchgpu"}
    local patched, status = host.run(PATCHED, "-g", environment)
    check.equal(patched, (host.run(STOCK, "-g", environment)))
    check.equal(status, 0)
end)

check.run("a hostile store", function()
    local store = WORK .. "/store"
    os.execute(string.format("rm -rf '%s' && mkdir -p '%s' && mkfifo '%s/GPU-0.json' && ln -s /dev/zero '%s/GPU-1.json' && mkdir '%s/GPU-2.json' && head -c 3000000 /dev/urandom >'%s/GPU-3.json' && chmod -R 777 '%s'",
                             store, store, store, store, store, store, store))
    local environment = {path, "GPUTOPO_STORE=" .. store}
    local patched, status, seconds = host.run(PATCHED, "-g", environment)
    check.equal(patched, (host.run(STOCK, "-g", environment)))
    check.equal(status, 0)
    check.that(seconds < 2, "took " .. seconds .. " s")
end)

check.finish()
