-- What the module makes of topologies: the section's rows, marks and numbers, and the boxes.
package.path = ROOT .. "/tests/likwid/?.lua;" .. ROOT .. "/plugin/likwid/?.lua;" .. package.path
local check = require("check")

local rules = {hline = string.rep("-", 80), sline = string.rep("*", 80)}
local h200 = check.read(ROOT .. "/tests/likwid/fixtures/h200.json")

-- A host that knows nothing but LIKWID's rulers, unless told more.
local function render(text, options)
    check.write(os.getenv("FAKE_GPUTOPO_OUTPUT"), text)
    package.loaded.likwid_gputopo = nil
    local module = require("likwid_gputopo")
    options = options or {}
    options.likwid = setmetatable(options.likwid or {}, {__index = rules})
    local lines, picture = {}, {}
    module.watch(options.likwid)
    if options.likwid.getCudaTopology then options.likwid.getCudaTopology() end
    local found = module.add_section(lines, options)
    module.picture(function(line) picture[#picture + 1] = line end)
    return table.concat(lines, "\n"), table.concat(picture, "\n"), found
end

local function estimate(value, unit, status)
    return string.format('{"value": %s, "unit": "%s", "status": "%s", "method": "m", "samples": 1}', value, unit, status)
end

-- A topology of the given memories; each is {id=, scope=, size=estimate, ...}, fields as in the schema. An empty text
-- leaves scope or instances out.
local function topology(memories, gpu)
    gpu = gpu or {}
    local parts = {}
    for index, memory in ipairs(memories) do
        parts[index] = string.format(
            '{"id": "%s", "kind": "%s", "label": "%s", %s%s"parent": "%s", ' ..
                '"physical_cache": "%s", "attributes": {"size": %s%s}%s}',
            memory.id, memory.kind or "cache", memory.label or memory.id,
            memory.scope == "" and "" or string.format('"scope": "%s", ', memory.scope or "sm"),
            memory.instances == "" and "" or string.format('"instances_per_scope": %d, ', memory.instances or 1),
            memory.parent or "", memory.physical or "", memory.size or estimate(1024, "B", "measured"), memory.more or "",
            memory.groups and ', "sm_groups": ' .. memory.groups or "")
    end
    return string.format(
        '{"schema": "gputopo-topology/1", "provenance": {"tool": {"name": "gputopo", "version": "1"}, "simulated": %s, "notes": [%s]}, ' ..
            '"gpu": {"name": "%s", "uuid": "GPU-0", "pci_bus_id": "%s", "compute_capability": "9.0", "sm_count": %d, ' ..
            '"clock_khz": %s}, "memories": [%s], "crosscheck": []%s}',
        gpu.simulated or "false", gpu.notes or "", gpu.name or "G", gpu.pci or "0000:01:00.0", gpu.sms or 4,
        gpu.clock or "1000000", table.concat(parts, ", "), gpu.places and ', "sm_places": ' .. gpu.places or "")
end

local function has(text, piece, why) check.that(text:find(piece, 1, true), (why or "") .. " missing: " .. piece .. "\nin:\n" .. text) end
local function lacks(text, piece) check.that(not text:find(piece, 1, true), "present: " .. piece .. "\nin:\n" .. text) end

check.run("a measured H200", function()
    local section, picture, found = render(h200)
    check.equal(found, true)
    has(section, "GPU Cache Topology\n" .. rules.sline .. "\nGPU count:\t\t1\n")
    has(section, "Name:\t\t\tNVIDIA H200\n")
    has(section, "PCI address:\t\t0000:3b:00.0\n")
    check.that(section:find("L1 +240.88 kB +128 B +38 cycles +19.2 ns +1 SM +1 +132 +measured"), section)
    check.that(section:find("Const L1.5 +>= 128 kB +256 B +104 cycles +52.5 ns +16%-18 SMs +%- +8 +lower bound"), section)
    check.that(section:find("Device memory +140.4 GB %(api%) +%- +%? +%- +132 SMs +%- +1 +api"), section)
    has(section, "Marks:\t\t\t>= at least; (api) told by the driver; ? not decided")
    has(picture, "GPU 0: NVIDIA H200\n+--")
    has(picture, " L1/Texture/Read-only 240.88 kB ", "one physical cache is one box")
    has(picture, " Const L1.5 >= 128 kB (8 GPCs of 16-18 SMs) ")
    has(picture, " L2 60 MB ")
    check.equal(select(2, picture:gsub("| +partition 30 MB +|", "")), 2, "a box for each L2 partition")
    has(picture, " Device memory 140.4 GB (api) ")
end)

check.run("boxes from the SM outwards", function()
    local _, picture = render(h200)
    local at = 0
    for _, label in ipairs({"132 x SM", "Shared memory", "L1/Texture", "Const L1 2 kB", "Const L1.5", "L2 60 MB", "partition", "Device memory"}) do
        local position = picture:find(label, 1, true) or 0
        check.that(position > at, label .. " is out of order")
        at = position
    end
end)

check.run("every line of a drawing is equally wide and closed", function()
    local many = {}
    for index = 1, 30 do many[index] = {id = "cache_with_a_long_name_" .. index, scope = index > 20 and "gpu" or "sm"} end
    for _, text in ipairs({h200, topology(many), topology({{id = "l1"}}), topology({{id = "l2", scope = "gpu", instances = 3}})}) do
        local _, picture = render(text)
        local width
        for line in picture:gmatch("[^\n]+") do
            if line:sub(1, 3) ~= "GPU" then
                width = width or #line
                check.equal(#line, width, "ragged: " .. line)
                check.that(line:match("^[+|].*[+|]$"), "open: " .. line)
            end
            check.that(#line <= 100, "over 100 columns: " .. line)
        end
        check.that(width and width > 4, "no drawing")
    end
end)

check.run("every status is told apart", function()
    local section, picture = render(topology({
        {id = "l1", size = estimate(2048, "B", "measured")},
        {id = "texture", size = estimate(4096, "B", "api")},
        {id = "read_only", size = estimate(8192, "B", "lower_bound")},
        {id = "constant_l1", size = estimate(16384, "B", "upper_bound")},
        {id = "constant_l1_5", size = estimate(32768, "B", "inconclusive")},
        {id = "l2", size = estimate("null", "B", "inconclusive")},
        {id = "shared", kind = "scratchpad", size = estimate("null", "B", "not_supported")},
    }))
    for _, text in ipairs({section, picture}) do
        has(text, "2 kB ")
        has(text, "4 kB (api)")
        has(text, ">= 8 kB")
        has(text, "<= 16 kB")
        has(text, "32 kB (?)")
    end
    has(picture, " L2 ? ")
    lacks(picture, "Shared memory")
    for _, word in ipairs({"measured", "api", "lower bound", "upper bound", "inconclusive", "not supported"}) do
        has(section, word .. "\n")
    end
end)

check.run("simulated GPUs say so", function()
    local section, picture = render(topology({{id = "l1", size = estimate(1024, "B", "truth")}}, {simulated = "true"}))
    has(section, "Source:\t\t\tsimulated GPU (the model's specification)")
    has(picture, "GPU 0: G (simulated)")
    section = render(topology({{id = "l1"}}, {simulated = "true"}))
    has(section, "Source:\t\t\tsimulated GPU (measured on the model by gputopo 1)")
end)

check.run("equal GPUs fold, others follow", function()
    local one = {{id = "l1"}, {id = "l2", scope = "gpu"}}
    local list = {}
    for index = 0, 7 do list[#list + 1] = topology(one, {pci = string.format("0000:%02x:00.0", 0x10 + index)}) end
    list[#list + 1] = topology({{id = "l1", size = estimate(4096, "B", "measured")}}, {pci = "0000:90:00.0"})
    local section, picture = render("[" .. table.concat(list, ",") .. "]")
    has(section, "GPU count:\t\t9\n")
    has(picture, "GPU 0-7: 8 x G\n")
    has(picture, "GPU 8: G\n")
    check.equal(select(2, picture:gsub("GPU ", "")), 2, "titles")
    list[4] = list[9]:gsub("0000:90:00.0", "0000:13:00.0")
    _, picture = render("[" .. table.concat(list, ",") .. "]")
    has(picture, "GPU 0 1 2 4 5 6 7: 7 x G\n")
    has(picture, "GPU 3 8: 2 x G\n")
end)

check.run("numbers follow LIKWID's own by PCI address", function()
    local calls = 0
    local function likwid_with(list)
        return {getCudaTopology = function() calls = calls + 1; return list end}
    end
    local function devices()
        return {numDevices = 2, devices = {{id = 0, pciDom = 0, pciBus = 0x81, pciDev = 0}, {id = 1, pciDom = 0, pciBus = 0x3b, pciDev = 0}}}
    end
    local memories = {{id = "l1"}}
    local list = {
        topology(memories, {pci = "0000:3b:00.0", name = "B"}), topology(memories, {pci = "0000:C1:00.0", name = "unlisted"}),
        topology(memories, {pci = "0000:81:00.0", name = "A"}),
    }
    local _, picture = render("[" .. table.concat(list, ",") .. "]", {likwid = likwid_with(devices())})
    check.equal(calls, 1, "LIKWID was asked by us: after the host gave its list back, that reads freed memory")
    local titles = {}
    for title in picture:gmatch("GPU [^\n]+") do titles[#titles + 1] = title end
    check.equal(table.concat(titles, ", "), "GPU 0: A, GPU 1: B, GPU 2: unlisted")
    -- a simulated GPU never takes a real one's number
    _, picture = render(topology(memories, {pci = "0000:81:00.0", simulated = "true"}), {likwid = likwid_with(devices())})
    has(picture, "GPU 2: G (simulated)")
    -- a list that isn't one is no list
    for _, odd in ipairs({7, {}, {devices = {7}}, {devices = {{id = "x", pciDom = 0, pciBus = 1, pciDev = 0}}}, {devices = {{id = 3}}}}) do
        _, picture = render(list[1], {likwid = likwid_with(odd)})
        has(picture, "GPU 0: B")
    end
end)

check.run("sharing by scope, groups and places", function()
    local places = '[{"sm": 0, "tpc": 0, "gpc": 7}, {"sm": 1, "tpc": 0, "gpc": 7}, {"sm": 2, "tpc": 1, "gpc": 7}, {"sm": 3, "gpc": 2}]'
    local section, picture = render(topology({
        {id = "a", instances = 2}, {id = "b", scope = "tpc"}, {id = "c", scope = "gpc"}, {id = "d", scope = "cpc"},
        {id = "e", scope = "gpc", groups = "[[0], [1, 2, 3]]"}, {id = "f", scope = "gpu", instances = 8},
    }, {places = places}))
    check.that(section:find("a +1 kB +1 SM +2 +8 "), section)
    check.that(section:find("b +1 kB +1%-2 SMs +%- +2 "), section)
    check.that(section:find("c +1 kB +1%-3 SMs +%- +2 "), section)
    check.that(section:find("d +1 kB +%- +%- +%- "), section)
    check.that(section:find("e +1 kB +1%-3 SMs +%- +2 "), section)
    check.that(section:find("f +1 kB +4 SMs +%- +8 "), section)
    has(picture, "2 x a 1 kB")
    check.that(render(topology({{id = "u", instances = 0}})):find("u +1 kB +1 SM +measured"), "an unknown number of instances")
    has(picture, "c 1 kB (2 GPCs of 1-3 SMs)")
    has(picture, "d 1 kB (per CPC)")
    has(picture, "8 x f 1 kB")
    _, picture = render(topology({{id = "l2", scope = "partition", groups = "[[0, 1], [2, 3]]"}}))
    check.equal(select(2, picture:gsub("| +L2 partition 1 kB +|", "")), 2, "a box for each partition")
end)

check.run("what wasn't measured is a dash and claims nothing", function()
    local memories = {
        {id = "l1", instances = ""}, {id = "texture", scope = "", instances = ""}, {id = "l2", scope = "", instances = 4},
        {id = "shared", kind = "scratchpad", size = estimate("null", "B", "not_supported")},
        {id = "device_memory", kind = "memory", scope = "gpu"},
    }
    local section, picture = render(topology(memories))
    check.that(section:find("\nL1 +1 kB +1 SM +%- +measured\n"), section)
    check.that(section:find("\nTexture +1 kB +%- +%- +measured\n"), section)
    check.that(section:find("\nL2 +1 kB +%- +%- +measured\n"), section)
    check.that(section:find("\nShared memory +%- +%- +%- +not supported\n"), section)
    check.that(picture:find("4 x SM +| |\n[^\n]+\n| | | +L1 1 kB +| | |\n"), "the L1 is an SM's: " .. picture)
    check.that(picture:find("L1 1 kB .*Texture 1 kB .*L2 1 kB .*Device memory 1 kB"), picture)
    check.that(picture:find("\n| | +Texture 1 kB +| |\n"), "nobody knows whose the texture cache is: " .. picture)
    local csv = render(topology(memories), {csv = true})
    has(csv, "\ntexture,texture,cache,-,1024,measured,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-")
    has(csv, "\nl1,l1,cache,sm,1024,measured,-,-,-,-,-,-,-,-,-,-,1,-,-,-,-,-,-")
end)

check.run("a group of SMs that nothing names is a group", function()
    local _, picture = render(topology({{id = "constant_l1_5", scope = "group", groups = "[[0, 1], [2, 3]]"}}))
    has(picture, " Const L1.5 1 kB (2 groups of 2 SMs) ")
    _, picture = render(topology({{id = "constant_l1_5", scope = "group"}}))
    has(picture, " Const L1.5 1 kB (per group) ")
end)

check.run("outer caches in the order of the chain", function()
    local _, picture = render(topology({
        {id = "device_memory", kind = "memory", scope = "gpu"}, {id = "l3", scope = "gpu", parent = "device_memory"},
        {id = "l2", scope = "gpu", parent = "l3"}, {id = "odd", scope = "gpu", parent = "odd"},
    }))
    check.that(picture:find("L2 .*L3 .*Device memory"), picture)
end)

check.run("a cache in partitions", function()
    local function partitioned(count, instances)
        local more = ', "partitions": ' .. estimate(count, "", "measured") .. ', "partition_size": ' .. estimate(512, "B", "lower_bound") ..
                         ', "far_latency": ' .. estimate(500, "cycles", "measured")
        return render(topology({{id = "l2", scope = "gpu", more = more, instances = instances}}))
    end
    local section, picture = partitioned(2)
    check.that(section:find("\nL2 +1 kB +%- +%- +4 SMs +1 +measured\n  partition +>= 512 B +500 cycles +500 ns far +%- +2 +lower bound\n"), section)
    check.that(picture:find(" L2 1 kB .*| partition >= 512 B | +| +partition >= 512 B +| +| +|"), picture)
    section, picture = partitioned(1)
    lacks(section .. picture, "partition")
    _, picture = partitioned(8)
    has(picture, "8 x partition >= 512 B")
    _, picture = partitioned(2, 2)
    has(picture, "2 x L2 1 kB")
    lacks((partitioned("null")), "  partition")
    lacks((partitioned("2.5")), "  partition")
end)

check.run("units", function()
    local more = ', "latency": ' .. estimate(100.5, "cycles", "measured") .. ', "line_size": ' .. estimate(96, "B", "measured") ..
                     ', "sector_size": ' .. estimate(32, "B", "lower_bound") .. ', "read_bandwidth": ' .. estimate(3.9e12, "B/s", "measured")
    local section = render(topology({{id = "l1", size = estimate(1023, "B", "measured"), more = more}}, {clock = "2000000"}))
    check.that(section:find("1023 B +96 B +100.5 cycles +50.2 ns +3900 GB/s"), section)
    local csv = render(topology({{id = "l1", size = estimate(1023, "B", "measured"), more = more}}, {clock = "2000000"}), {csv = true})
    has(csv, "l1,l1,cache,sm,1023,measured,96,measured,32,lower_bound,100.5,50.25,measured,3900000000000,B/s,measured,1,1,4,-,-,-,-,-,-")
    section = render(topology({{id = "l1", more = more}}, {clock = "0"}))
    lacks(section, " ns")
    lacks(section, "Copy")
    more = more .. ', "write_bandwidth": ' .. estimate(2e12, "B/s", "measured") .. ', "copy_bandwidth": ' .. estimate(1.5e12, "B/s", "lower_bound")
    section = render(topology({{id = "l1", more = more}}, {clock = "2000000"}))
    check.that(section:find("Bandwidth +Write +Copy"), section)
    check.that(section:find("3900 GB/s +2000 GB/s +>= 1500 GB/s"), section)
    csv = render(topology({{id = "l1", more = more}}, {clock = "2000000"}), {csv = true})
    has(csv, "-,-,-,-,2000000000000,1500000000000")
end)

check.run("CSV is regular", function()
    local section = render(h200, {csv = true, details = true})
    lacks(section, "\t\t\t\t")
    local expected, columns = 0, 0
    for line in section:gmatch("[^\n]+") do
        local kind, count = line:match("^(%u+),[^,]+,(%d+)$")
        if kind then
            check.equal(expected, 0, "rows still due before " .. line)
            expected, columns = tonumber(count) + (kind == "TABLE" and 1 or 0), 0
        else
            expected = expected - 1
            local commas = select(2, line:gsub(",", ""))
            if line:find("\t") == nil then
                columns = columns == 0 and commas or columns
                check.equal(commas, columns, "ragged: " .. line)
                check.that(not line:find(",,") and not line:find(",$"), "empty cell: " .. line)
            end
            check.that(not line:find("^[*-]"), "LIKWID would strip: " .. line)
        end
    end
    check.equal(expected, 0, "rows due at the end")
end)

check.run("details list every estimate and the groups", function()
    local section = render(h200, {details = true})
    check.that(section:find("l1 +size +246656 +B +measured +residency +246656 +246656 +95 %% +0.999 +25752"), section)
    has(section, "Const L1.5 groups:\t( 0 1 16 17 ")
    lacks(render(h200), "residency")
end)

check.run("hostile text is tamed", function()
    local section, picture = render(topology({{id = "l1", label = "\\u001b[31mred\\n,x"}, {id = "q\\u0007,\\u00e9", label = ""}},
                                             {name = "A\\u001b]0;pwn\\u0007, B\\n****\\u00e9" .. string.rep("x", 500), notes = '"a\\u009bb,c"'}),
                                    {details = true})
    for _, text in ipairs({section, picture}) do
        check.that(not text:find("[^\n\t\32-\126]"), "a control or non-ASCII character is left")
        for line in text:gmatch("[^\n]+") do check.that(#line < 250, "a line of " .. #line .. " columns") end
    end
    lacks(section, ",x")
end)

check.run("what isn't a topology is left out", function()
    local good = topology({{id = "l1"}}, {name = "good"})
    local function without(pattern, replacement)
        local changed, count = good:gsub(pattern, replacement)
        check.that(count > 0, "pattern not found: " .. pattern)
        return changed
    end
    local bad = {
        without("topology/1", "topology/2"), without('"sm_count": 4', '"sm_count": 4.5'), without('"sm_count": 4', '"sm_count": -1'),
        without('"sm_count": 4', '"sm_count": 1e9'), without('"sm_count": 4', '"sm_count": "4"'), without('"value": 1024', '"value": -1024'),
        without('"value": 1024', '"value": "1024"'), without('"value": 1024', '"value": 1e300'), without('"measured"', '"guessed"'), without('"scope": "sm"', '"scope": "rack"'),
        without('"kind": "cache"', '"kind": null'), without('"instances_per_scope": 1', '"instances_per_scope": 1e6'),
        without('"id": "l1"', '"id": ""'), without('"attributes": {', '"attributes": 7, "x": {'), without('"memories": %[.*%], "cross', '"memories": [], "cross'),
        without('"memories": %[.*%], "cross', '"cross'), without('"gpu": {', '"gpu": null, "x": {'), '{}', "[]", "7", "null", '"x"', "[[]]", '{"schema": null}',
        topology({{id = "l1"}, {id = "l1"}}), topology({{id = "l1", groups = '[[0, "a"]]'}}), topology({{id = "l1", groups = "[[1e9]]"}}),
    }
    for _, text in ipairs(bad) do
        local section, picture, found = render(text)
        check.equal(section .. picture, "", "accepted: " .. text)
        check.equal(found, false)
        section = render("[" .. text .. "," .. good .. "]")
        has(section, "GPU count:\t\t1\n", text)
    end
end)

check.run("exit status", function()
    local _, _, found = render(h200 .. "\nexit 0\n")
    check.equal(found, false, "text behind the JSON")
end)

check.finish()
