-- The patched likwid-topology against stored outputs. What stock LIKWID prints differs from machine to machine, so the
-- stored part is what the patched copy adds, and everything else has to be what the installed script prints here.
-- UPDATE=1 writes the stored outputs anew (look at the diff before keeping it).
package.path = ROOT .. "/tests/likwid/?.lua;" .. ROOT .. "/plugin/likwid/?.lua;" .. package.path
local check = require("check")
local host = require("host")
host.needs(STOCK)
local json = require("likwid_gputopo").internal

local fixtures = ROOT .. "/tests/likwid/fixtures/"
local h200, odd = check.read(fixtures .. "h200.json"), check.read(fixtures .. "odd.json")
local simulated = h200:gsub('"simulated": false', '"simulated": true'):gsub('"status": "[^"]*"', '"status": "truth"')
local twin = h200:gsub("0000:3b:00.0", "0000:86:00.0")
local machines = {
    simulated_h200 = simulated,
    two_gpus = "[" .. odd .. "," .. h200 .. "]",
    twins = "[" .. h200 .. "," .. twin .. "]",
}

local output = WORK .. "/outputs.json"
local environment = {"GPUTOPO_COMMAND=" .. ROOT .. "/tests/likwid/fake_gputopo", "FAKE_GPUTOPO_OUTPUT=" .. output}

local function compare(name, lines)
    local path = ROOT .. "/tests/likwid/expected/" .. name .. ".txt"
    local text = table.concat(lines, "\n") .. "\n"
    if os.getenv("UPDATE") == "1" then check.write(path, text) end
    check.equal(text, check.read(path), name)
end

-- What the installed script prints, which knows nothing of what the stand-in for gputopo says.
local of_stock = {}
local function run_stock(arguments)
    of_stock[arguments] = of_stock[arguments] or table.pack(host.run(STOCK, arguments, environment))
    return table.unpack(of_stock[arguments])
end

local function both(arguments)
    local stock, stock_status = run_stock(arguments)
    local patched, status = host.run(PATCHED, arguments, environment)
    check.equal(stock_status, 0, "stock exit status")
    check.equal(status, 0, "exit status")
    return stock, patched
end

-- Output written to a file: its text, and what the command itself printed.
local function file_of(script, arguments, name)
    local path = WORK .. "/" .. name
    os.remove(path)
    local printed, status = host.run(script, arguments .. " -o " .. path, environment)
    check.equal(status, 0, "exit status")
    return host.steady(check.read(path)), printed
end

local text_options = {plain = "", g = "-g", G = "-G", c_g = "-c -g"}

for machine, text in pairs(machines) do
    check.run(machine .. " as text", function()
        check.write(output, text)
        for name, arguments in pairs(text_options) do
            local stock, patched = both(arguments)
            local section, boxes = host.additions(check.lines(stock), check.lines(patched))
            table.move(boxes, 1, #boxes, #section + 1, section)
            compare(machine .. "." .. name, section)
            check.equal(#boxes > 0, name:find("g") ~= nil, "boxes")
        end
    end)

    check.run(machine .. " as CSV", function()
        check.write(output, text)
        local stock, patched = both("-O")
        local section = host.additions(host.unpadded(check.lines(stock)), host.unpadded(check.lines(patched)))
        compare(machine .. ".O", section)
        local widths = {}
        for line in patched:gmatch("[^\n]+") do
            -- LIKWID 5.2 has its table of hardware threads as text even here
            if not line:find("^HWThread  ") then widths[select(2, line:gsub(",", ""))] = true end
        end
        check.equal(next(widths, (next(widths))), nil, "a number of columns that not all lines have")
        local file, printed = file_of(PATCHED, "", "x.csv")
        check.equal(file, patched, "-o x.csv is -O in a file")
        check.equal(printed, "", "-o prints nothing")
    end)

    check.run(machine .. " as JSON", function()
        check.write(output, text)
        local stock = json.decode((file_of(STOCK, "", "stock.json")))
        local patched, printed = file_of(PATCHED, "", "x.json")
        check.equal(printed, "", "-o prints nothing")
        local found, added = json.decode(patched), {}
        for key in pairs(stock) do check.that(found[key] ~= nil, "lost " .. key) end
        for key, value in pairs(found) do
            if stock[key] == nil then
                check.that(key:find("^GPU Cache Topology %d"), "unexpected " .. key)
                added[#added + 1] = key .. (value[1] and " rows=" .. #value or "")
            end
        end
        table.sort(added)
        local table_name = "GPU Cache Topology 0 memories"
        local decoded = json.decode(text)
        local first = decoded.schema and decoded or decoded[1].gpu.pci_bus_id < decoded[2].gpu.pci_bus_id and decoded[1] or decoded[2]
        for index, memory in ipairs(first.memories) do
            local row = found[table_name][index]
            check.equal(row.Memory, memory.id)
            local size = memory.attributes.size
            if size then
                check.equal(row["Size [B]"], size.value == json.null and "-" or size.value, memory.id)
                check.equal(row["Size status"], size.status, memory.id)
            end
            check.equal(row["Physical cache"], memory.physical_cache or "-", memory.id)
        end
        compare(machine .. ".json", added)
    end)

    check.run(machine .. " -g into a file", function()
        check.write(output, text)
        local file, printed = file_of(PATCHED, "-g", "x.txt")
        check.equal(printed, "", "headings and boxes are in one place")
        local _, patched = both("-g")
        check.equal(file, patched, "-g -o x.txt is -g in a file")
    end)
end

check.run("numbers agree with LIKWID's own GPU section", function()
    check.write(output, machines.twins)
    local with_gpus = {"LUA_INIT=@" .. ROOT .. "/tests/likwid/gpu_interface.lua", table.unpack(environment)}
    for _, arguments in ipairs({"-g", "-G", "-O", "-G -O"}) do
        local stock, stock_status = host.run(STOCK, arguments, with_gpus)
        local patched, status = host.run(PATCHED, arguments, with_gpus)
        check.equal(stock_status, 0)
        check.equal(status, 0, "exit status; 99: LIKWID was asked for GPUs after its list was put back")
        check.that(stock:find("Listed GPU 0"), "the stand-in for LIKWID's GPU interface doesn't work")
        local section = table.concat(host.additions(host.unpadded(check.lines(stock)), host.unpadded(check.lines(patched))), "\n")
        check.that(section:find("GPU:[\t,]+0\nPCI address:[\t,]+0000:86:00.0.*GPU:[\t,]+1\nPCI address:[\t,]+0000:3b:00.0"), section)
        local labels = {}
        for line in stock:match("GPU Topology.*"):gmatch("[^\n]+") do labels[line:match("^[^:]+:") or ""] = true end
        for line in section:gmatch("[^\n]+") do
            check.that(not labels[line:match("^[^:]+:") or 0], "LIKWID has such a line of its own: " .. line)
        end
    end
end)

check.run("the XML filter still works", function()
    check.write(output, h200)
    check.equal((file_of(PATCHED, "", "x.xml")), (file_of(STOCK, "", "stock.xml")))
end)

check.run("no data is stock, byte for byte", function()
    for _, text in ipairs({"", "[]"}) do
        check.write(output, text)
        for _, arguments in ipairs({"", "-g", "-G", "-c -g", "-O", "-G -O", "-c -g -C -G", "-h", "-v", "-V", "-x", "-o"}) do
            if not arguments:find("C ", 1, true) then
                local stock, stock_status = run_stock(arguments)
                local patched, status = host.run(PATCHED, arguments, environment)
                check.equal(patched, stock, arguments)
                check.equal(status, stock_status, arguments)
            end
        end
        for _, name in ipairs({"x.csv", "x.txt", "x.json", "x.xml"}) do
            for _, arguments in ipairs({"", "-g"}) do
                local stock, stock_printed = file_of(STOCK, arguments, name)
                local patched, printed = file_of(PATCHED, arguments, name)
                check.equal(patched, stock, arguments .. " -o " .. name)
                check.equal(printed, stock_printed, arguments .. " -o " .. name)
            end
        end
    end
end)

check.finish()
