-- likwid_gputopo: the memory hierarchy of this machine's GPUs for likwid-topology.
--
-- One self-contained file in pure Lua (5.3 or 5.4), to be put on LIKWID's module path. It asks the command
-- `gputopo show --format json` for what was measured earlier, and renders it as LIKWID's text, CSV and ASCII boxes.
-- It never measures by itself (unless GPUTOPO_DISCOVER=1), never raises an error, never writes to stderr and takes
-- bounded time and memory: a gputopo that is missing, hangs, crashes or prints nonsense reads as 'no GPU known'.
--
-- Interface, for the host script:
--   watch(likwid)                                  before the host lists GPUs itself: remembers how it numbers them
--   add_section(lines, {likwid=, csv=, details=, file=})  appends the text lines; returns true if there were any
--   picture(write)                                 calls write(line) for every line of the boxes
-- Units as in LIKWID: 1 kB = 1024 B, 1 MB = 1024 kB, 1 GB = 1024 MB.

local M = {}

local schema = "gputopo-topology/1"
local show_seconds = 1          -- what likwid-topology may lose to a gputopo that hangs
local devices_seconds = 10
local discover_seconds = 120
local max_bytes = 2 * 1024 * 1024
local max_depth = 16
local max_nodes = 200000
local max_gpus = 64
local max_memories = 64
local max_attributes = 64
local max_sms = 4096
local picture_columns = 100
local max_boxes = 4             -- of one cache, side by side

-- JSON ----------------------------------------------------------------------------------------------------------------

-- RFC 8259, strictly; duplicate keys, numbers beyond a double's range, deep nesting and endless lists are refused too.
local null = {}

local escapes = {['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t"}

local function decode_string(text, position)
    local parts = {}
    while true do
        local stop = text:find('["\\%c]', position)
        if not stop then error("unterminated string") end
        parts[#parts + 1] = text:sub(position, stop - 1)
        local char = text:sub(stop, stop)
        if char == '"' then return table.concat(parts), stop + 1 end
        if char ~= "\\" and char ~= "\127" then error("control character in a string") end
        if char == "\127" then
            parts[#parts + 1] = char
            position = stop + 1
        elseif text:sub(stop + 1, stop + 1) == "u" then
            local hex = text:match("^%x%x%x%x", stop + 2)
            if not hex then error("bad \\u escape") end
            local code = tonumber(hex, 16)
            position = stop + 6
            if code >= 0xD800 and code < 0xDC00 then
                local low = text:match("^\\u(%x%x%x%x)", position)
                low = low and tonumber(low, 16) or 0
                if low < 0xDC00 or low > 0xDFFF then error("lone surrogate") end
                code = 0x10000 + (code - 0xD800) * 0x400 + (low - 0xDC00)
                position = position + 6
            elseif code >= 0xDC00 and code < 0xE000 then
                error("lone surrogate")
            end
            parts[#parts + 1] = utf8.char(code)
        else
            local plain = escapes[text:sub(stop + 1, stop + 1)]
            if not plain then error("bad escape") end
            parts[#parts + 1] = plain
            position = stop + 2
        end
    end
end

local function decode_number(text, position)
    local stop = select(2, text:find("^-?%d+", position))
    if not stop or text:find("^-?0%d", position) then error("bad number") end
    stop = select(2, text:find("^%.%d+", stop + 1)) or stop
    stop = select(2, text:find("^[eE][+-]?%d+", stop + 1)) or stop
    local value = tonumber(text:sub(position, stop))
    if not value or value ~= value or value == math.huge or value == -math.huge then error("number out of range") end
    return value, stop + 1
end

local function decode(text)
    local nodes = 0
    local value

    local function blank(position) return text:find("[^ \t\r\n]", position) or #text + 1 end

    -- The elements of a list or an object up to `close`; `element` reads one and returns the position behind it.
    local function sequence(position, close, element)
        position = blank(position)
        if text:sub(position, position) == close then return position + 1 end
        while true do
            position = blank(element(position))
            local char = text:sub(position, position)
            if char == close then return position + 1 end
            if char ~= "," then error("expected , or " .. close) end
            position = blank(position + 1)
        end
    end

    function value(position, depth)
        nodes = nodes + 1
        if depth > max_depth or nodes > max_nodes then error("too deep or too long") end
        local char = text:sub(position, position)
        if char == '"' then return decode_string(text, position + 1) end
        if char == "{" then
            local object = {}
            return object, sequence(position + 1, "}", function(at)
                if text:sub(at, at) ~= '"' then error("expected a key") end
                local key
                key, at = decode_string(text, at + 1)
                at = blank(at)
                if text:sub(at, at) ~= ":" or object[key] ~= nil then error("expected : or a new key") end
                object[key], at = value(blank(at + 1), depth + 1)
                return at
            end)
        end
        if char == "[" then
            local list = {}
            return list, sequence(position + 1, "]", function(at)
                list[#list + 1], at = value(at, depth + 1)
                return at
            end)
        end
        for word, meaning in pairs({["true"] = true, ["false"] = false, null = null}) do
            if text:sub(position, position + #word - 1) == word then return meaning, position + #word end
        end
        return decode_number(text, position)
    end

    local result, position = value(blank(1), 1)
    if blank(position) <= #text then error("text behind the value") end
    return result
end

-- Checked topologies --------------------------------------------------------------------------------------------------

local function set(...)
    local names = {}
    for _, name in ipairs({...}) do names[name] = true end
    return names
end

local statuses = set("measured", "api", "lower_bound", "upper_bound", "not_supported", "inconclusive", "truth")
local kinds = set("cache", "scratchpad", "memory")
local scopes = set("sm", "tpc", "cpc", "gpc", "partition", "gpu", "group")

-- Text from a file ends up on terminals and in comma-separated lines: nothing but printable ASCII, no comma.
local function text_of(value, longest)
    if value == nil or value == null then return "" end
    if type(value) ~= "string" then error("expected a string") end
    value = value:sub(1, 4 * longest):gsub(utf8.charpattern, function(char) return #char > 1 and "?" or char end)
    return (value:gsub("[^\32-\126]", " "):gsub(",", ";"):gsub("^%s+", ""):gsub("%s+$", ""):sub(1, longest))
end

local function count_of(value, largest)
    if math.type(value) == "float" then value = math.tointeger(value) end
    if math.type(value) ~= "integer" or value < 0 or value > largest then error("expected a count") end
    return value
end

local function number_of(value)
    if value == nil or value == null then return nil end
    if type(value) ~= "number" or value < 0 or value > 2 ^ 63 then error("expected a number") end
    return value
end

local function member_of(names, value)
    if type(value) ~= "string" or not names[value] then error("unknown name") end
    return value
end

-- What wasn't measured is absent, and stays so: nothing here has a default.
local function if_known(check, value, ...)
    if value == nil or value == null then return nil end
    return check(value, ...)
end

local function table_of(value)
    if value == nil then return {} end
    if type(value) ~= "table" or value == null then error("expected a list or an object") end
    return value
end

local function checked_estimate(raw)
    local interval = table_of(raw.interval)
    return {
        value = number_of(raw.value),
        unit = text_of(raw.unit, 12),
        status = member_of(statuses, raw.status),
        method = text_of(raw.method, 32),
        low = number_of(interval[1]),
        high = number_of(interval[2]),
        interval = #interval == 2 and (raw.interval_kind and text_of(raw.interval_kind, 12) or "95 %") or "-",
        confidence = number_of(raw.confidence),
        samples = raw.samples and number_of(raw.samples),
        confirmed = type(raw.note) == "string" and raw.note:find("confirmed by counters$") ~= nil,
        ns = number_of(raw.value_ns),
    }
end

local function checked_memory(raw)
    raw = table_of(raw)
    local memory = {
        id = text_of(raw.id, 64),
        kind = member_of(kinds, raw.kind),
        label = text_of(raw.label, 32),
        scope = if_known(function(name) return member_of(scopes, name) end, raw.scope),
        instances = if_known(count_of, raw.instances_per_scope, 1024),
        parent = text_of(raw.parent, 64),
        physical = text_of(raw.physical_cache, 64),
        created = text_of(raw.created, 32),
        attributes = {},
        names = {},
        groups = {},
    }
    if memory.id == "" then error("a memory without an id") end
    for name, estimate in pairs(table_of(raw.attributes)) do
        if type(name) ~= "string" or #memory.names == max_attributes then error("attributes") end
        memory.attributes[name] = checked_estimate(table_of(estimate))
        memory.names[#memory.names + 1] = name
    end
    table.sort(memory.names)
    for index, group in ipairs(table_of(raw.sm_groups)) do
        memory.groups[index] = {}
        for _, sm in ipairs(table_of(group)) do table.insert(memory.groups[index], count_of(sm, max_sms)) end
    end
    return memory
end

local place_of_scope = {tpc = "tpc", cpc = "cpc", gpc = "gpc", partition = "l2_partition"}

-- How many SMs each of the GPU's groups has, by scope, from the places of the SMs.
local function group_sizes(places)
    local sizes = {}
    for scope, field in pairs(place_of_scope) do
        local members, order = {}, {}
        for _, place in ipairs(table_of(places)) do
            local group = table_of(place)[field]
            if group ~= nil and group ~= null then
                if not members[group] then order[#order + 1] = group end
                members[group] = (members[group] or 0) + 1
            end
        end
        sizes[scope] = {}
        for index, group in ipairs(order) do sizes[scope][index] = members[group] end
    end
    return sizes
end

local function checked_topology(raw)
    raw = table_of(raw)
    if raw.schema ~= schema then error("another schema") end
    local gpu, provenance = table_of(raw.gpu), table_of(raw.provenance)
    local tool = table_of(provenance.tool)
    local topology = {
        name = text_of(gpu.name, 48),
        pci = text_of(gpu.pci_bus_id, 16):lower(),
        capability = text_of(gpu.compute_capability, 8),
        sms = count_of(gpu.sm_count, max_sms),
        clock_khz = number_of(gpu.clock_khz) or 0,
        cycle_khz = number_of(gpu.measured_clock_khz) or number_of(gpu.clock_khz) or 0,
        simulated = provenance.simulated == true,
        created = text_of(provenance.created, 32),
        tool = text_of(tool.name, 16) .. " " .. text_of(tool.version, 16),
        notes = {},
        memories = {},
        sizes = group_sizes(raw.sm_places),
        truth = false,
    }
    for index, note in ipairs(table_of(provenance.notes)) do
        if index <= 4 then topology.notes[index] = text_of(note, 160) end
    end
    local seen = {}
    for index, memory in ipairs(table_of(raw.memories)) do
        if index > max_memories then error("too many memories") end
        memory = checked_memory(memory)
        if seen[memory.id] then error("two memories of one id") end
        seen[memory.id] = true
        topology.memories[index] = memory
        local size = memory.attributes.size
        topology.truth = topology.truth or (size ~= nil and size.status == "truth")
    end
    if #topology.memories == 0 then error("no memories") end
    return topology
end

-- Every topology in `text`, a JSON object or a list of them. A topology that isn't one is left out.
local function topologies_of(text)
    local valid, decoded = pcall(decode, text)
    if not valid or type(decoded) ~= "table" then return {} end
    local list = decoded.schema ~= nil and {decoded} or decoded
    local topologies = {}
    for index = 1, math.min(#list, max_gpus) do
        local fine, topology = pcall(checked_topology, list[index])
        if fine then topologies[#topologies + 1] = topology end
    end
    return topologies
end

-- Asking gputopo ------------------------------------------------------------------------------------------------------

local function quoted(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

-- The folder of the gputopo that was installed along with the running script, as a last resort behind PATH.
local function own_folder()
    local script = type(arg) == "table" and type(arg[0]) == "string" and arg[0] or ""
    return script:match("^(.*)/[^/]*$") or "."
end

-- What `gputopo ARGUMENTS` prints if it ends well and in time, else nothing. The inner pipe keeps whatever gputopo
-- might leave behind from holding our end of the outer one open; the last line tells an end from a cut.
local function ask(arguments, seconds)
    local command = os.getenv("GPUTOPO_COMMAND")
    command = (command and command ~= "") and quoted(command) or "gputopo"
    local inner = string.format("{ %s %s; printf '\\nexit %%d\\n' $?; } | head -c %d", command, arguments, max_bytes)
    -- an empty PATH must not become one that starts with the current folder
    local outer = string.format("exec 2>/dev/null </dev/null; PATH=\"${PATH:+$PATH:}\"%s; export PATH; timeout -s KILL %d sh -c %s",
                                quoted(own_folder()), seconds, quoted(inner))
    local pipe = io.popen(outer, "r")
    if not pipe then return nil end
    local text = pipe:read(max_bytes) or ""
    pipe:close()
    local body, status = text:match("^(.*)\nexit (%d+)\n$")
    -- 3: done, but something is inconclusive, which the estimates say themselves
    return body, status == "0" or status == "3"
end

-- LIKWID's GPU number by PCI address, from the lists that the host has asked for. The host's own answers are looked at
-- and LIKWID is never asked again: once a list was put back, LIKWID (5.5.1 and before) would answer from freed memory.
local likwid_numbers = {}

local function remember(list)
    for _, gpu in pairs(list.devices) do
        local address = string.format("%04x:%02x:%02x.%x", gpu.pciDom, gpu.pciBus, gpu.pciDev, gpu.pciFunc or 0)
        likwid_numbers[address] = math.tointeger(gpu.id)
    end
end

-- Numbers the GPUs as LIKWID does where it knows them, the others behind those by PCI address.
local function number_gpus(topologies)
    local known, largest = likwid_numbers, -1
    for _, number in pairs(known) do largest = math.max(largest, number) end
    for index, topology in ipairs(topologies) do
        topology.order = index
        topology.number = not topology.simulated and known[topology.pci] or nil
        topology.listed = topology.number ~= nil
    end
    table.sort(topologies, function(a, b)
        if a.number ~= b.number then return (a.number or math.huge) < (b.number or math.huge) end
        if a.pci ~= b.pci then return a.pci < b.pci end
        return a.order < b.order
    end)
    for _, topology in ipairs(topologies) do
        if not topology.number then
            largest = largest + 1
            topology.number = largest
        end
    end
    return topologies
end

-- Measures every real GPU and stores the result. A machine without one isn't made to simulate any.
local function discover_all()
    local text, ended = ask("devices --format json", devices_seconds)
    local fine, devices = pcall(decode, ended and text or "")
    if not fine or type(devices) ~= "table" then return end
    for index = 1, math.min(#devices, max_gpus) do
        local name = type(devices[index]) == "table" and devices[index].device
        if type(name) == "string" and name:find("^cuda:%d+$") then
            ask("discover --device " .. name .. " --save --quiet >/dev/null", discover_seconds)
        end
    end
end

local function load_topologies()
    local text, ended = ask("show --format json", show_seconds)
    local topologies = ended and topologies_of(text) or {}
    if #topologies == 0 and text and os.getenv("GPUTOPO_DISCOVER") == "1" then
        discover_all()
        text, ended = ask("show --format json", show_seconds)
        topologies = ended and topologies_of(text) or {}
    end
    return number_gpus(topologies)
end

-- Words and numbers ---------------------------------------------------------------------------------------------------

local names = {
    l1 = "L1", texture = "Texture", read_only = "Read-only", constant_l1 = "Const L1", constant_l1_5 = "Const L1.5",
    l2 = "L2", l3 = "L3", shared = "Shared memory", device_memory = "Device memory",
    instruction_l0 = "Instr L0", instruction_l1 = "Instr L1", instruction_l1_5 = "Instr L1.5", instruction_l2 = "Instr L2",
    tlb_l1 = "TLB L1", tlb_l2 = "TLB L2", tlb_l3 = "TLB L3",
}

local function name_of(memory) return names[memory.id] or (memory.label ~= "" and memory.label or memory.id:sub(1, 32)) end

-- Whole numbers without decimals, others with at most `decimals`.
local function plain(value, decimals)
    local text = string.format("%." .. (decimals or 2) .. "f", value)
    return text:find("%.") and text:gsub("0+$", ""):gsub("%.$", "") or text
end

local function bytes(value)
    if value < 1024 then return plain(value) .. " B" end
    if value < 1024 ^ 2 then return plain(value / 1024) .. " kB" end
    if value < 1024 ^ 3 then return plain(value / 1024 ^ 2) .. " MB" end
    return plain(value / 1024 ^ 3) .. " GB"
end

local function quantity(value, unit)
    if unit == "B" then return bytes(value) end
    if unit == "B/s" then return plain(value / 1e9, 1) .. " GB/s" end
    if unit == "cycles" then return plain(value, 1) .. " cycles" end
    return plain(value) .. (unit ~= "" and " " .. unit or "")
end

-- An estimate in words. Whatever isn't the measured quantity itself says so: at least, at most, api, undecided.
local function in_words(estimate)
    if not estimate or estimate.status == "not_supported" then return "-" end
    if not estimate.value then return estimate.status == "inconclusive" and "?" or "-" end
    local words = quantity(estimate.value, estimate.unit)
    if estimate.status == "lower_bound" then return ">= " .. words end
    if estimate.status == "upper_bound" then return "<= " .. words end
    if estimate.status == "api" then return words .. " (api)" end
    if estimate.status == "inconclusive" then return words .. " (?)" end
    return words
end

local function nanoseconds(estimate, topology)
    if not estimate or not estimate.value then return nil end
    if estimate.unit == "ns" then return estimate.value end
    if estimate.unit ~= "cycles" then return nil end
    return estimate.ns or (topology.cycle_khz > 0 and estimate.value * 1e6 / topology.cycle_khz or nil)
end

-- The GPU has no such memory, or doesn't let it be seen: there is nothing to share.
local function is_absent(memory)
    local size = memory.attributes.size
    return size ~= nil and size.status == "not_supported"
end

-- Fewest and most SMs that share one instance of `memory`, and the GPU's number of instances; nothing where unknown.
local function sharing(memory, topology)
    if not memory.scope or is_absent(memory) then return nil end
    local sizes = topology.sizes[memory.scope] or {}
    if #memory.groups > 0 then
        sizes = {}
        for index, group in ipairs(memory.groups) do sizes[index] = #group end
        return math.min(table.unpack(sizes)), math.max(table.unpack(sizes)), #sizes
    end
    local instances = memory.instances and memory.instances > 0 and memory.instances or nil
    if memory.scope == "sm" then return 1, 1, instances and topology.sms * instances end
    if memory.scope == "gpu" then return topology.sms, topology.sms, instances end
    if #sizes == 0 then return nil end
    return math.min(table.unpack(sizes)), math.max(table.unpack(sizes)), instances and #sizes * instances
end

local function instances_per_sm(memory)
    if memory.scope ~= "sm" or not memory.instances or is_absent(memory) then return "-" end
    return memory.instances > 0 and tostring(memory.instances) or "-"
end

-- Number and size of the partitions of a cache that has several, a size that depends on who asks.
local function partitions_of(memory)
    local count = memory.attributes.partitions
    count = count and count.value and math.tointeger(count.value)
    if not count or count < 2 or count > max_sms then return nil end
    return count, memory.attributes.partition_size
end

local function range(low, high)
    if not low then return nil end
    return low == high and tostring(low) or low .. "-" .. high
end

local function sms_in_words(low, high)
    if not low then return "-" end
    return range(low, high) .. (high == 1 and " SM" or " SMs")
end

-- The section ---------------------------------------------------------------------------------------------------------

-- "Label:" and its value, the values in one column at LIKWID's tab stops.
local function row(label, value)
    return label .. ":" .. string.rep("\t", math.max(1, 3 - (#label + 1) // 8)) .. value
end

-- A table as LIKWID's CSV (a cell is never empty: its filters would lose the column) or as aligned text.
local function add_table(lines, title, header, rows, csv)
    table.insert(lines, string.format("TABLE,%s,%d", title, #rows))
    local widths = {}
    for _, cells in ipairs({header, table.unpack(rows)}) do
        for column, cell in ipairs(cells) do widths[column] = math.max(widths[column] or 0, #cell) end
    end
    for _, cells in ipairs({header, table.unpack(rows)}) do
        if csv then
            table.insert(lines, table.concat(cells, ","))
        else
            local padded = {}
            for column, cell in ipairs(cells) do
                padded[column] = cell .. string.rep(" ", widths[column] - #cell)
            end
            table.insert(lines, (table.concat(padded, "  "):gsub("%s+$", "")))
        end
    end
end

local function csv_number(value) return value and plain(value, 3) or "-" end

local function csv_cells(memory, topology)
    local function both(name)
        local estimate = memory.attributes[name] or {}
        return csv_number(estimate.value), estimate.status or "-"
    end
    local size, size_status = both("size")
    local line, line_status = both("line_size")
    local sector, sector_status = both("sector_size")
    local latency, latency_status = both("latency")
    local bandwidth = memory.attributes.read_bandwidth or {}
    local partitions, partition = partitions_of(memory)
    local low, high, total = sharing(memory, topology)
    return {
        memory.id, memory.label ~= "" and memory.label or memory.id, memory.kind, memory.scope or "-", size, size_status, line,
        line_status, sector, sector_status, latency, csv_number(nanoseconds(memory.attributes.latency, topology)), latency_status,
        csv_number(bandwidth.value), bandwidth.value and bandwidth.unit or "-", bandwidth.status or "-", range(low, high) or "-",
        instances_per_sm(memory), total and tostring(total) or "-",
        memory.physical ~= "" and memory.physical or "-", memory.parent ~= "" and memory.parent or "-",
        partitions and tostring(partitions) or "-", csv_number(partition and partition.value),
        csv_number((memory.attributes.write_bandwidth or {}).value), csv_number((memory.attributes.copy_bandwidth or {}).value),
    }
end

local csv_header = {
    "Memory", "Label", "Kind", "Scope", "Size [B]", "Size status", "Line [B]", "Line status",
    "Sector [B]", "Sector status", "Latency [cycles]", "Latency [ns]", "Latency status", "Read bandwidth", "Bandwidth unit", "Bandwidth status", "Shared by SMs",
    "Instances per SM", "Instances", "Physical cache", "Parent", "Partitions", "Partition size [B]",
    "Write bandwidth [B/s]", "Copy bandwidth [B/s]",
}

local function text_cells(memory, topology)
    local attributes = memory.attributes
    local latency = in_words(attributes.latency)
    local ns = nanoseconds(attributes.latency, topology)
    local low, high, total = sharing(memory, topology)
    local main = attributes.size or attributes.latency
    return {
        name_of(memory), in_words(attributes.size), in_words(attributes.line_size), latency,
        ns and plain(ns, 1) .. " ns" or "-", in_words(attributes.read_bandwidth),
        in_words(attributes.write_bandwidth), in_words(attributes.copy_bandwidth), sms_in_words(low, high),
        instances_per_sm(memory), total and tostring(total) or "-",
        main and main.status:gsub("_", " ") or "-",
    }
end

-- A row below that of a cache in partitions: one partition, and the way to a far one.
local function partition_cells(memory, topology, partitions, size)
    local far = memory.attributes.far_latency
    local ns = nanoseconds(far, topology)
    return {
        "  partition", in_words(size), "-", far and in_words(far) or "-", ns and plain(ns, 1) .. " ns far" or "-", "-", "-", "-", "-", "-",
        tostring(partitions), size and size.status:gsub("_", " ") or "-",
    }
end

local text_header = {"Memory", "Size", "Line", "Latency", "", "Bandwidth", "Write", "Copy", "Shared by", "Per SM", "Count", "Status"}

-- What the marks in a text table mean, as far as it has any.
local function legend_of(rows)
    local meanings = {}
    for _, mark in ipairs({{">= ", "at least"}, {"<= ", "at most"}, {"(api)", "told by the driver"}, {"?", "not decided"}}) do
        for _, cells in ipairs(rows) do
            if table.concat(cells, "\n"):find(mark[1], 1, true) then
                meanings[#meanings + 1] = mark[1]:gsub(" ", "") .. " " .. mark[2]
                break
            end
        end
    end
    return meanings
end

local function without_empty_columns(header, rows)
    local kept = {}
    for column in ipairs(header) do
        for _, cells in ipairs(rows) do
            if cells[column] ~= "-" then
                kept[#kept + 1] = column
                break
            end
        end
    end
    local function pick(cells)
        local picked = {}
        for index, column in ipairs(kept) do picked[index] = cells[column] end
        return picked
    end
    local picked_rows = {}
    for index, cells in ipairs(rows) do picked_rows[index] = pick(cells) end
    return pick(header), picked_rows
end

local function add_details(lines, title, topology, csv)
    local rows, groups = {}, {}
    for _, memory in ipairs(topology.memories) do
        for _, name in ipairs(memory.names) do
            local estimate = memory.attributes[name]
            local unit = estimate.unit ~= "" and estimate.unit or "-"
            rows[#rows + 1] = {
                memory.id, text_of(name, 24), csv_number(estimate.value), unit, estimate.status,
                estimate.method ~= "" and estimate.method or "-", csv_number(estimate.low), csv_number(estimate.high), estimate.interval,
                estimate.confirmed and "confirmed by counters" or csv_number(estimate.confidence),
                csv_number(estimate.samples),
            }
        end
        if #memory.groups > 0 then
            local members = {}
            for index, group in ipairs(memory.groups) do members[index] = "( " .. table.concat(group, " ") .. " )" end
            groups[#groups + 1] = row(name_of(memory) .. " groups", table.concat(members, " "))
        end
    end
    local header = {"Memory", "Attribute", "Value", "Unit", "Status", "Method", "Low", "High", "Interval", "Confidence", "Samples"}
    add_table(lines, title .. " attributes", header, rows, csv)
    if #groups > 0 then table.insert(lines, string.format("STRUCT,%s groups,%d", title, #groups)) end
    for _, line in ipairs(groups) do table.insert(lines, line) end
end

local function source_of(topology)
    if topology.simulated and topology.truth then return "simulated GPU (the model's specification)" end
    if topology.simulated then return "simulated GPU (measured on the model by " .. topology.tool .. ")" end
    local text = "measured by " .. topology.tool .. (topology.created ~= "" and " at " .. topology.created or "")
    for _, memory in ipairs(topology.memories) do
        if memory.created ~= "" then text = text .. "; " .. name_of(memory) .. " at " .. memory.created end
    end
    return text
end

local function add_gpu(lines, topology, options)
    local title = "GPU Cache Topology " .. topology.number
    local rows = {}
    local function add(label, value) rows[#rows + 1] = row(label, value) end
    local listed = topology.listed -- by LIKWID itself, with its name and more: no line twice
    add(listed and "GPU" or "ID", topology.number)
    if not listed then add("Name", topology.name ~= "" and topology.name or "unknown") end
    add("PCI address", topology.pci ~= "" and topology.pci or "none")
    if not listed then add("Compute capability", topology.capability ~= "" and topology.capability or "unknown") end
    add("Number of SMs", topology.sms)
    if not listed and topology.clock_khz > 0 then add("Clock rate", plain(topology.clock_khz) .. " kHz") end
    add("Source", source_of(topology))
    for index, note in ipairs(topology.notes) do rows[#rows + 1] = row("Note " .. index, note) end
    table.insert(lines, string.format("STRUCT,%s,%d", title, #rows))
    for _, line in ipairs(rows) do table.insert(lines, line) end
    if not options.csv then table.insert(lines, options.rule) end

    local cells = {}
    for _, memory in ipairs(topology.memories) do
        cells[#cells + 1] = (options.csv and csv_cells or text_cells)(memory, topology)
        local partitions, size = partitions_of(memory)
        if partitions and not options.csv then
            cells[#cells + 1] = partition_cells(memory, topology, partitions, size)
        end
    end
    local header = options.csv and csv_header or text_header
    if not options.csv then header, cells = without_empty_columns(header, cells) end
    add_table(lines, title .. " memories", header, cells, options.csv)
    local legend = options.csv and {} or legend_of(cells)
    if #legend > 0 then table.insert(lines, row("Marks", table.concat(legend, "; "))) end
    if not options.csv then table.insert(lines, options.rule) end
    if options.details then
        add_details(lines, title, topology, options.csv)
        if not options.csv then table.insert(lines, options.rule) end
    end
end

-- Boxes ---------------------------------------------------------------------------------------------------------------

-- Memories that are one physical cache become one cell: {name, size, memory}. What the GPU doesn't have is no cell.
local function cells_of(topology)
    local cells, by_cache = {}, {}
    for _, memory in ipairs(topology.memories) do
        local size = memory.attributes.size
        local key = memory.kind == "cache" and memory.physical ~= "" and (memory.scope or "") .. memory.physical or {}
        local cell = by_cache[key]
        if cell then
            cell.name = cell.name .. "/" .. name_of(memory)
        else
            cell = {name = name_of(memory), memory = memory}
            by_cache[key] = cell
            if not size or size.status ~= "not_supported" then cells[#cells + 1] = cell end
        end
        if not cell.size or not cell.size.value or (memory.id == memory.physical and size and size.value) then
            cell.size = size
        end
    end
    return cells
end

-- A group of SMs has a name only where something says what it is.
local scope_words = {tpc = "TPC", cpc = "CPC", gpc = "GPC", group = "group"}

local function label_of(cell, topology)
    local memory = cell.memory
    local size = cell.size and " " .. in_words(cell.size) or ""
    local label = cell.name .. size
    local low, high, total = sharing(memory, topology)
    if not memory.scope or memory.scope == "gpu" then return label end
    if memory.scope == "sm" then
        return memory.instances and memory.instances > 1 and memory.instances .. " x " .. label or label
    end
    if memory.scope == "partition" then return cell.name .. " partition" .. size end
    if not low then return label .. " (per " .. scope_words[memory.scope] .. ")" end
    return string.format("%s (%s %ss of %s)", label, total or "?", scope_words[memory.scope], sms_in_words(low, high))
end

-- Levels between a memory and the root of its chain, so that what is nearer to the SMs comes first.
local function depth_of(memory, topology)
    local by_id, depth = {}, 0
    for _, other in ipairs(topology.memories) do by_id[other.id] = other end
    while by_id[memory.parent] and depth < #topology.memories do
        memory = by_id[memory.parent]
        depth = depth + 1
    end
    return depth
end

-- `count` boxes of one label, or one box that says how many.
local function repeated(label, count)
    if count > max_boxes then return {count .. " x " .. label} end
    local labels = {}
    for index = 1, math.max(count, 1) do labels[index] = label end
    return labels
end

-- What is drawn below each other, from the SM outwards: {labels=} is a row of boxes, with a `title` around them a box
-- of its own. A cache in partitions is such a box.
local function blocks_of(topology)
    local sm = {title = string.format("%d x SM", topology.sms), labels = {}}
    local rank = {tpc = 1, cpc = 2, gpc = 3, group = 3, partition = 4, gpu = 4}
    local levels = {}
    for order, cell in ipairs(cells_of(topology)) do
        local memory, label = cell.memory, label_of(cell, topology)
        if memory.scope == "sm" then
            -- the scratchpad first, as the thread reaches it without a cache
            table.insert(sm.labels, memory.kind == "scratchpad" and 1 or #sm.labels + 1, label)
        else
            -- what nobody knows the sharers of lies in the GPU: that much is certain
            local own_rank = rank[memory.scope or "gpu"]
            local level = {rank = memory.kind == "memory" and 5 or own_rank, depth = 0, order = order, labels = {label}}
            if own_rank == 4 then
                local _, _, total = sharing(memory, topology)
                local count, size = partitions_of(memory)
                level.depth = depth_of(memory, topology)
                if count then
                    level.title = (total or 1) > 1 and total .. " x " .. label or label
                    level.labels = repeated("partition " .. in_words(size), count)
                else
                    level.labels = repeated(label, total or 1)
                end
            end
            levels[#levels + 1] = level
        end
    end
    table.sort(levels, function(a, b)
        if a.rank ~= b.rank then return a.rank < b.rank end
        if a.depth ~= b.depth then return a.depth > b.depth end
        return a.order < b.order
    end)
    table.insert(levels, 1, sm)
    return levels
end

local function row_width(labels)
    local width = -1
    for _, label in ipairs(labels) do width = width + #label + 5 end
    return width
end

-- Splits a row whose boxes don't fit side by side.
local function wrapped(labels, width)
    local rows = {{}}
    for _, label in ipairs(labels) do
        label = label:sub(1, width - 4)
        local last = rows[#rows]
        if #last > 0 and row_width(last) + #label + 5 > width then
            rows[#rows + 1] = {label}
        else
            last[#last + 1] = label
        end
    end
    return rows
end

local function centred(text, width)
    local before = (width - #text + 1) // 2
    return string.rep(" ", before) .. text .. string.rep(" ", width - #text - before)
end

-- One row of boxes, exactly `width` wide: the spare columns are spread over the boxes.
local function add_boxes(lines, labels, width, left, right)
    local spare, edge, middle = width - row_width(labels), {}, {}
    for index, label in ipairs(labels) do
        local share = (spare * index) // #labels - (spare * (index - 1)) // #labels
        local inner = #label + 2 + share
        edge[index] = "+" .. string.rep("-", inner) .. "+"
        middle[index] = "|" .. centred(label, inner) .. "|"
    end
    for _, part in ipairs({edge, middle, edge}) do table.insert(lines, left .. table.concat(part, " ") .. right) end
end

local function drawing_of(topology)
    local blocks, widest, width = blocks_of(topology), picture_columns - 4, 0
    for _, block in ipairs(blocks) do
        local border = block.title and 4 or 0
        block.title = block.title and block.title:sub(1, widest - 4)
        block.rows = #block.labels > 0 and wrapped(block.labels, widest - border) or {}
        width = math.max(width, block.title and #block.title + 4 or 0)
        for _, labels in ipairs(block.rows) do width = math.max(width, row_width(labels) + border) end
    end

    local lines = {"+" .. string.rep("-", width + 2) .. "+"}
    for _, block in ipairs(blocks) do
        if block.title then
            local edge = "| +" .. string.rep("-", width - 2) .. "+ |"
            table.insert(lines, edge)
            table.insert(lines, "| |" .. centred(block.title, width - 2) .. "| |")
            for _, labels in ipairs(block.rows) do add_boxes(lines, labels, width - 4, "| | ", " | |") end
            table.insert(lines, edge)
        else
            for _, labels in ipairs(block.rows) do add_boxes(lines, labels, width, "| ", " |") end
        end
    end
    table.insert(lines, lines[1])
    return lines
end

-- "0", "0-3" or "0 2 3" for ascending numbers.
local function numbers_in_words(numbers)
    local last = numbers[#numbers]
    if #numbers > 1 and last - numbers[1] == #numbers - 1 then return numbers[1] .. "-" .. last end
    return table.concat(numbers, " ")
end

-- What a host calls ---------------------------------------------------------------------------------------------------

local loaded = {}

function M.watch(likwid)
    for _, name in ipairs({"getCudaTopology", "getGpuTopology"}) do
        local get = likwid[name]
        if get then
            likwid[name] = function(...)
                local list = get(...)
                pcall(remember, list)
                return list
            end
        end
    end
end

function M.add_section(lines, options)
    local added = {}
    -- LIKWID's XML filter has no place for GPUs, and keeps the commas that a table wider than the host's pads lines with.
    if type(options.file) == "string" and options.file:find("%.xml$") then return false end
    local fine = pcall(function()
        loaded = load_topologies()
        if #loaded == 0 then return end
        local rule, stars = options.likwid.hline, options.likwid.sline
        if not options.csv then
            for _, line in ipairs({stars, "GPU Cache Topology", stars}) do table.insert(added, line) end
            if next(likwid_numbers) == nil then table.insert(added, row("GPU count", #loaded)) end
            table.insert(added, rule)
        end
        for _, topology in ipairs(loaded) do
            add_gpu(added, topology, {csv = options.csv, details = options.details, rule = rule})
        end
    end)
    if not fine or #loaded == 0 then
        loaded = {}
        return false
    end
    for _, line in ipairs(added) do table.insert(lines, line) end
    return true
end

function M.picture(write)
    local lines = {}
    local fine = pcall(function()
        local groups, by_drawing = {}, {}
        for _, topology in ipairs(loaded) do
            local title = (topology.name ~= "" and topology.name or "unknown") .. (topology.simulated and " (simulated)" or "")
            local drawing = drawing_of(topology)
            local key = title .. "\n" .. table.concat(drawing, "\n")
            if not by_drawing[key] then
                by_drawing[key] = {title = title, drawing = drawing, numbers = {}}
                table.insert(groups, by_drawing[key])
            end
            table.insert(by_drawing[key].numbers, topology.number)
        end
        for _, group in ipairs(groups) do
            local count = #group.numbers > 1 and #group.numbers .. " x " or ""
            table.insert(lines, string.format("GPU %s: %s%s", numbers_in_words(group.numbers), count, group.title))
            for _, line in ipairs(group.drawing) do table.insert(lines, line) end
        end
    end)
    if not fine then return end
    for _, line in ipairs(lines) do write(line) end
end

-- For the tests.
M.internal = {decode = decode, null = null, topologies_of = topologies_of, text_of = text_of}

return M
