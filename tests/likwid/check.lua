-- A small test harness: named cases, checks with a message, a summary, exit status 1 when a check failed.
local check = {failures = 0, count = 0, case = "?"}

local function complain(message)
    check.failures = check.failures + 1
    io.stderr:write(check.case .. ": " .. message .. "\n")
end

function check.that(condition, message)
    check.count = check.count + 1
    if not condition then complain(message) end
end

function check.equal(actual, expected, what)
    check.count = check.count + 1
    if actual ~= expected then
        complain(string.format("%s\n  expected %q\n  but got  %q", what or "values differ", tostring(expected), tostring(actual)))
    end
end

-- Runs one case; an error in it is a failure of that case alone.
function check.run(name, body)
    check.case = name
    local fine, problem = xpcall(body, debug.traceback)
    if not fine then complain(problem) end
end

function check.finish()
    io.stderr:write(string.format("%d checks, %d failures\n", check.count, check.failures))
    os.exit(check.failures == 0 and check.count > 0)
end

function check.read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("a")
    file:close()
    return text
end

function check.write(path, text)
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
end

function check.lines(text)
    local lines = {}
    for line in text:gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
    return lines
end

return check
