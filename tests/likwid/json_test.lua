-- The module's JSON reader: what is JSON is read exactly, everything else is refused in bounded time.
package.path = ROOT .. "/tests/likwid/?.lua;" .. ROOT .. "/plugin/likwid/?.lua;" .. package.path
local check = require("check")
local module = require("likwid_gputopo").internal

local function read(text) return module.decode(text) end
local function refuses(text, why)
    local fine, value = pcall(module.decode, text)
    check.that(not fine, why .. ": accepted as " .. tostring(value))
end

check.run("scalars", function()
    check.equal(read("true"), true)
    check.equal(read(" false\n"), false)
    check.equal(read("null"), module.null)
    check.equal(read("246656"), 246656)
    check.equal(math.type(read("246656")), "integer")
    check.equal(read("-0.5e1"), -5.0)
    check.equal(read("0"), 0)
    check.equal(read("1E+2"), 100.0)
end)

check.run("strings", function()
    check.equal(read([["a\"\\\/\b\f\n\r\t"]]), "a\"\\/\b\f\n\r\t")
    check.equal(read([["\u00e9\u20ac"]]), "\u{e9}\u{20ac}")
    check.equal(read([["\ud83d\ude00"]]), "\u{1F600}")
    check.equal(read('"caf\u{e9}\127"'), "caf\u{e9}\127")
    check.equal(read('""'), "")
end)

check.run("lists and objects", function()
    local value = read('{ "a" : [ 1 , [] , {} , null ] , "b" : { "c" : false } }')
    check.equal(#value.a, 4)
    check.equal(value.a[1], 1)
    check.equal(next(value.a[2]), nil)
    check.equal(value.a[4], module.null)
    check.equal(value.b.c, false)
end)

check.run("what isn't JSON", function()
    local texts = {
        [""] = "nothing", ["{"] = "open object", ["["] = "open list", ["[1,]"] = "trailing comma", ["{,}"] = "comma only",
        ["{\"a\":1,}"] = "trailing comma in an object", ["{\"a\" 1}"] = "no colon", ["{a:1}"] = "bare key",
        ["{1:1}"] = "number as key", ["[1 2]"] = "no comma", ["01"] = "leading zero", ["-"] = "sign only", ["+1"] = "plus",
        ["1."] = "no fraction", [".5"] = "no integer part", ["1e"] = "no exponent", ["0x10"] = "hexadecimal",
        ["NaN"] = "NaN", ["Infinity"] = "Infinity", ["1e999"] = "beyond a double", ["nul"] = "cut word", ["true1"] = "word and more",
        ["\"a"] = "open string", ["\"\n\""] = "raw line break", ["\"\1\""] = "raw control character", ["\"\\x\""] = "unknown escape",
        ["\"\\u12\""] = "short escape", ["\"\\ud800\""] = "high surrogate alone", ["\"\\udc00\""] = "low surrogate alone",
        ["\"\\ud800\\u0041\""] = "bad surrogate pair", ["1 2"] = "two values", ["{} x"] = "text behind",
        ["{\"a\":1,\"a\":2}"] = "duplicate key", ["{\"a\":null,\"a\":2}"] = "duplicate key after null", ["'a'"] = "single quotes",
        ["[1]//"] = "comment", ["\239\187\191{}"] = "byte order mark", ["\0"] = "a zero byte",
    }
    for text, why in pairs(texts) do refuses(text, why) end
end)

check.run("every cut of a real file", function()
    local text = check.read(ROOT .. "/tests/likwid/fixtures/h200.json")
    check.equal(read(text).schema, "gputopo-topology/1")
    local whole = #text:gsub("%s+$", "")
    for length = 0, whole - 1, 97 do refuses(text:sub(1, length), "cut at " .. length) end
end)

check.run("bounded", function()
    local start = os.clock()
    refuses(string.rep("[", 1000000), "a million open lists")
    refuses(string.rep("[", 17) .. string.rep("]", 17), "deeper than the schema")
    check.that(pcall(read, string.rep("[", 16) .. string.rep("]", 16)), "16 levels refused")
    refuses(string.rep('{"a":', 1000000), "a million open objects")
    refuses("[" .. string.rep("1,", 1000000) .. "1]", "a million numbers")
    refuses('"' .. string.rep("a", 2000000), "a long open string")
    refuses('"' .. string.rep("\\n", 1000000), "a million escapes")
    refuses(string.rep(" ", 2000000), "blanks")
    check.that(os.clock() - start < 5, "took " .. os.clock() - start .. " s")
end)

check.finish()
