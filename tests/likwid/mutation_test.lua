-- Damaged topologies: whatever a file holds, the module answers without an error, within bounds, and draws closed boxes.
-- Seeded, so that a failure can be repeated.
package.path = ROOT .. "/tests/likwid/?.lua;" .. ROOT .. "/plugin/likwid/?.lua;" .. package.path
local check = require("check")

local rules = {hline = string.rep("-", 80), sline = string.rep("*", 80)}
local sources = {check.read(ROOT .. "/tests/likwid/fixtures/h200.json"), check.read(ROOT .. "/tests/likwid/fixtures/odd.json")}

-- Park and Miller's minimal standard generator: the same numbers in every Lua.
local state = SEED or 20220726
local function random(limit)
    state = state * 48271 % 2147483647
    return state % limit + 1
end

local values = {"0", "-1", "1e308", "1e-308", "0.5", "null", "true", "[]", "{}", '""', '"x"', "9007199254740993", "4096", "4097", '"gpu"', "[[1,2],[3]]"}

-- Values of the text that may be exchanged: numbers, strings behind a colon, and words.
local function replace_value(text)
    local places = {}
    for from, to in text:gmatch("():%s*[^%s,%]}{%[]+()") do places[#places + 1] = {from + 1, to} end
    local place = places[random(#places)]
    return text:sub(1, place[1] - 1) .. " " .. values[random(#values)] .. text:sub(place[2])
end

local function damaged(text)
    for _ = 1, random(4) do
        local kind, at = random(10), random(#text)
        if kind <= 7 then
            text = replace_value(text)
        elseif kind == 8 then
            text = text:sub(1, at - 1) .. string.char(random(256) - 1) .. text:sub(at + 1)
        elseif kind == 9 then
            local to = math.min(#text, at + random(200))
            text = text:sub(1, at) .. text:sub(to)
        else
            text = text:sub(1, at) .. text:sub(at - math.min(at, random(50)))
        end
    end
    return text
end

-- The module starts six processes to ask gputopo, which is what outputs_test and harm_test are about and would be nearly
-- all that a round costs. The answer is the one that they would carry.
local processes = io.popen
local function answer_with(text)
    text = text .. "\nexit 0\n"
    io.popen = function()
        return {read = function(_, count) return text:sub(1, count) end, close = function() end}
    end
end

local function fresh_module()
    package.loaded.likwid_gputopo = nil
    return require("likwid_gputopo")
end
local function section(module, csv)
    local lines = {"kept"}
    return module.add_section(lines, {likwid = rules, csv = csv, details = true}), lines
end

check.run("an answer is what the processes carry", function()
    for _, text in ipairs({sources[1], sources[2], sources[1]:sub(1, 5000), "", "[]"}) do
        io.popen = processes
        check.write(os.getenv("FAKE_GPUTOPO_OUTPUT"), text)
        local found, lines = section(fresh_module(), false)
        answer_with(text)
        local again, same = section(fresh_module(), false)
        check.equal(again, found)
        check.equal(table.concat(same, "\n"), table.concat(lines, "\n"))
    end
end)

-- As many rounds as ROUNDS says, or until there is a file STOP.
local rounds = ROUNDS or 250
local function is_asked_to_stop()
    local file = io.open(STOP)
    return file ~= nil and file:close()
end
local shown, round = 0, 0
while STOP and not is_asked_to_stop() or not STOP and round < rounds do
    round = round + 1
    check.run("round " .. round, function()
        local text = damaged(sources[random(#sources)])
        check.write(os.getenv("FAKE_GPUTOPO_OUTPUT"), text)  -- for whoever wants to know what ended it
        answer_with(text)
        local module = fresh_module()
        for _, csv in ipairs({false, true}) do
            local start = os.clock()
            local found, lines = section(module, csv)
            local width
            module.picture(function(line)
                check.that(found, "a picture without data")
                check.that(#line <= 100, "wide: " .. line)
                if line:find("^[+|]") then
                    width = width or #line
                    check.equal(#line, width, line)
                end
            end)
            check.that(os.clock() - start < 1, "slow")
            check.equal(lines[1], "kept")
            check.equal(#lines > 1, found)
            for _, line in ipairs(lines) do check.that(not line:find("[^\t\32-\126]"), "not plain: " .. line) end
            if found then shown = shown + 1 end
        end
    end)
end
rounds = round
print(rounds .. " rounds")
check.that(shown > rounds // 10 and shown < rounds * 49 // 25,
           shown .. " of " .. 2 * rounds .. " shown: the damage is too small or too great to tell anything")
check.finish()
