-- Runs the installed likwid-topology and the patched copy, and tells what the patched one adds.
local check = require("check")
local host = {}

local function quoted(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

-- Output, exit status and seconds of one run. `environment` is a list of NAME=VALUE.
function host.run(script, arguments, environment)
    local words = {}
    for index, variable in ipairs(environment or {}) do words[index] = quoted(variable) end
    local command = string.format("start=$(date +%%s%%N); env %s %s %s 2>&1 </dev/null; printf '\\n%%d %%d' $? $((($(date +%%s%%N) - start) / 1000000))",
                                  table.concat(words, " "), quoted(script), arguments)
    local pipe = assert(io.popen(command))
    local output = pipe:read("a")
    pipe:close()
    local text, status, milliseconds = output:match("^(.*)\n(%d+) (%d+)$")
    return host.steady(text), tonumber(status), tonumber(milliseconds) / 1000
end

-- Without what differs from run to run: the memory, of which virtual machines may even change the total.
function host.steady(text)
    text = text:gsub("(%u%l+ memory:[\t,]*)[%d.]+ MB", "%1some"):gsub('(%u%l+ memory:": )"[^"]*"', '%1"some"')
    return (text:gsub("(<%l+memory>)[^<]*", "%1some"))
end

-- Ends the test as skipped where the installed LIKWID itself doesn't run (it refuses processors it doesn't know).
function host.needs(script)
    local output, status = host.run(script, "", {})
    if status ~= 0 then
        io.stderr:write(string.format("skipped: %s fails here by itself: %s\n", script, output))
        os.exit(77)
    end
end

-- What `patched` has beyond `stock`, both lists of lines: the section and the boxes. Everything else must be equal.
function host.additions(stock, patched)
    local function starts_graphic(lines)
        for index, line in ipairs(lines) do
            if line == "Graphical Topology" then return index - 3 end
        end
        return #lines + 1
    end
    local before, before_patched = starts_graphic(stock), starts_graphic(patched)
    for index = 1, before - 1 do check.equal(patched[index], stock[index], "line " .. index) end
    local section = table.move(patched, before, before_patched - 1, 1, {})
    local shift = before_patched - before
    for index = before, #stock do check.equal(patched[index + shift], stock[index], "line " .. index) end
    return section, table.move(patched, #stock + shift + 1, #patched, 1, {})
end

-- CSV lines without the padding that LIKWID adds to the width of the longest.
function host.unpadded(lines)
    for index, line in ipairs(lines) do lines[index] = line:gsub(",+$", "") end
    return lines
end

return host
