import PushWire
import TestSupport
import TestTraits
import Testing

@Suite struct JSONDocumentTests {
    static let accepted: [(String, JSONValue)] = [
        ("null", .null), (" true\n", true), ("\tfalse\r\n", false), ("0", 0), ("-0", 0), ("-17", -17),
        ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
        ("9223372036854775808", .number(9_223_372_036_854_775_808)), ("1e3", 1000.0), ("1E-2", 0.01), ("0.5", 0.5),
        ("-1.25e+2", -125.0), (#""""#, ""), (#""a""#, "a"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (#""\u0061\u00e9\u20AC""#, "aé€"), (#""\ud83d\udd14""#, "🔔"), (#""é€🔔""#, "é€🔔"), (#""\u0000""#, "\0"),
        ("\"\u{7f}\"", "\u{7f}"), ("[]", []), ("[ ]", []), ("{}", [:]), ("{ }", [:]), ("[1,2]", [1, 2]),
        ("[[],[[]],{}]", [[], [[]], [:]]), (#"{"a":1}"#, ["a": 1]),
        (#" { "a" : [ 1 , { "b" : null } ] , "c" : "d" } "#, ["a": [1, ["b": nil]], "c": "d"]),
        (#"{"":""}"#, ["": ""]), (#"{"a":1,"a":2}"#, ["a": 1]), ("1e999", .null),
    ]

    @Test(arguments: accepted) func `Valid JSON is parsed`(text: String, value: JSONValue) throws {
        let document = try JSONDocument(Array(text.utf8))
        #expect(document.value(at: document.root) == value)
        #expect(JSONDocument.isObject(Array(text.utf8)) == (document.kind(document.root) == .object))
    }

    static let rejected: [(String, JSONError.Code, Int)] = [
        ("", .empty, 0), (" \n", .empty, 2), ("\u{feff}{}", .byteOrderMark, 0), ("{} x", .trailingBytes, 3),
        ("1 2", .trailingBytes, 2), ("{}{}", .trailingBytes, 2), ("[", .unexpectedEnd, 1), ("[1", .unexpectedEnd, 2),
        ("[1,", .unexpectedEnd, 3), ("[1,]", .unexpectedByte, 3), ("[,1]", .unexpectedByte, 1),
        ("[1 2]", .expectedCommaOrEnd, 3), ("[1}", .expectedCommaOrEnd, 2), ("]", .unexpectedByte, 0),
        ("{", .unexpectedEnd, 1), ("{1:2}", .expectedKey, 1), ("{a:1}", .expectedKey, 1), ("{'a':1}", .expectedKey, 1),
        (#"{"a"}"#, .expectedColon, 4), (#"{"a" 1}"#, .expectedColon, 5), (#"{"a":}"#, .unexpectedByte, 5),
        (#"{"a":1,}"#, .expectedKey, 7), (#"{"a":1]"#, .expectedCommaOrEnd, 6),
        (#"{"a":1 "b":2}"#, .expectedCommaOrEnd, 7),
        ("{,}", .expectedKey, 1), ("tru", .unexpectedEnd, 3), ("trux", .badLiteral, 0), ("True", .unexpectedByte, 0),
        ("truee", .trailingBytes, 4), ("nul", .unexpectedEnd, 3), ("falsy", .badLiteral, 0),
        ("NaN", .unexpectedByte, 0), ("Infinity", .unexpectedByte, 0), ("-", .unexpectedEnd, 1), ("-a", .badNumber, 1),
        ("+1", .unexpectedByte, 0), ("01", .badNumber, 0), ("-01", .badNumber, 0), (".5", .unexpectedByte, 0),
        ("1.", .unexpectedEnd, 2), ("1.e1", .badNumber, 2), ("1e", .unexpectedEnd, 2), ("1e+", .unexpectedEnd, 3),
        ("1ex", .badNumber, 2), ("0x10", .badNumber, 0), ("1.2.3", .badNumber, 0), ("1_000", .badNumber, 0),
        (#"""#, .unexpectedEnd, 1), (#""a"#, .unexpectedEnd, 2), (#""\"#, .unexpectedEnd, 2), (#""\x""#, .badEscape, 1),
        (#""\u12""#, .badEscape, 1), (#""\u12g4""#, .badEscape, 1), (#""\u12"#, .unexpectedEnd, 5),
        (#""\ud83d""#, .loneSurrogate, 1), (#""\ud83dx""#, .loneSurrogate, 1), (#""\udd14""#, .loneSurrogate, 1),
        (#""\ud83d\u0041""#, .loneSurrogate, 1), (#""\ud83d\n""#, .loneSurrogate, 1), ("\"\n\"", .controlCharacter, 1),
        ("\"\u{1f}\"", .controlCharacter, 1), ("\"a\0\"", .controlCharacter, 2), ("// x\n1", .unexpectedByte, 0),
        ("é", .unexpectedByte, 0), ("\u{a0}1", .unexpectedByte, 0), ("\u{b}1", .unexpectedByte, 0),
    ]

    @Test(arguments: rejected) func `Invalid JSON is rejected with the cause and the offset`(
        text: String, code: JSONError.Code, offset: Int
    ) {
        #expect(throws: JSONError(code, at: offset)) { try JSONDocument(Array(text.utf8)) }
        #expect(!JSONDocument.isObject(Array(text.utf8)))
    }

    static let notUTF8: [[UInt8]] = [
        [0x80], [0xbf], [0xc0, 0x80], [0xc1, 0xbf], [0xc2, 0x41], [0xe0, 0x80, 0x80], [0xe0, 0x9f, 0xbf],
        [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf], [0xe2, 0x82, 0x41], [0xf0, 0x8f, 0xbf, 0xbf], [0xf4, 0x90, 0x80, 0x80],
        [0xf5, 0x80, 0x80, 0x80], [0xff], [0xf0, 0x9f, 0x94, 0x41],
    ]

    @Test(arguments: notUTF8) func `Invalid UTF-8 is rejected`(bytes: [UInt8]) {
        let text = [UInt8(ascii: "\"")] + bytes + Array("\"    ".utf8)
        #expect(throws: JSONError(.badUTF8, at: 1)) { try JSONDocument(text) }
    }

    @Test func `Every scalar is parsed, both literal and escaped`() throws {
        for value in Array(UInt32(0x20)...0x2fff) + [0xd7ff, 0xe000, 0xffff, 0x10000, 0x1f514, 0x10ffff] {
            guard let scalar = Unicode.Scalar(value), value != 0x22, value != 0x5c else { continue }
            let text = String(scalar)
            #expect(try Self.read("\"\(text)\"") == .string(text))
            let units = text.utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
            #expect(try Self.read("\"\(units)\"") == .string(text))
        }
    }

    private static func read(_ text: String) throws -> JSONValue {
        let document = try JSONDocument(Array(text.utf8))
        return document.value(at: document.root)
    }

    @Test(arguments: 0..<40) func `Special bytes are found at every position of a string`(length: Int) throws {
        let letters = [UInt8](repeating: UInt8(ascii: "~"), count: length)
        let quote = UInt8(ascii: "\"")
        for position in 0...length {
            let (before, after) = (letters[..<position], letters[position...])
            let text = { (bytes: [UInt8]) in [quote] + before + bytes + after + [quote] }
            #expect(throws: JSONError(.controlCharacter, at: position + 1)) { try JSONDocument(text([0x1f])) }
            #expect(throws: JSONError(.controlCharacter, at: position + 1)) { try JSONDocument(text([0x00])) }
            #expect(throws: JSONError(.badUTF8, at: position + 1)) { try JSONDocument(text([0x80])) }
            #expect(throws: JSONError(.badEscape, at: position + 1)) { try JSONDocument(text(Array("\\x".utf8))) }
            #expect(throws: JSONError(.trailingBytes, at: position + 2)) { try JSONDocument(text([quote])) }
            for plain in ["é", " ", "!", "#", "[", "]", "\u{7f}"] {
                let document = try JSONDocument(text(Array(plain.utf8)))
                #expect(document.string(document.root) == String(decoding: before + plain.utf8 + after, as: UTF8.self))
            }
            let escaped = try JSONDocument(text(Array("\\\"".utf8)))
            #expect(escaped.string(escaped.root)?.utf8.count == length + 1)
        }
    }

    @Test func `Brackets may be nested up to the limit`() throws {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nested = { (depth: Int) in
                Array((String(repeating: open, count: depth) + "0" + String(repeating: close, count: depth)).utf8)
            }
            let limit = JSONDocument.maxDepth
            _ = try JSONDocument(nested(limit))
            let error = JSONError(.tooDeep, at: limit * open.utf8.count)
            #expect(throws: error) { try JSONDocument(nested(limit + 1)) }
            #expect(throws: error) { try JSONDocument(nested(1_000_000)) }
            #expect(throws: JSONError(.tooDeep, at: 3 * open.utf8.count)) { try JSONDocument(nested(4), depthLimit: 3) }
        }
        #expect(throws: JSONError(.tooDeep, at: 64)) { try JSONDocument([UInt8](repeating: 0x5b, count: 1 << 20)) }
        #expect(throws: JSONError(.tooLong, at: 10)) {
            try JSONDocument([UInt8](repeating: 0x20, count: 11), lengthLimit: 10)
        }
    }

    static let repeated: [(String, Int?)] = [
        (#"{"a":1,"b":2}"#, nil), (#"{"a":1,"a":2}"#, 7), (#"{"a":1,"\u0061":2}"#, 7),
        (#"{"x":{"a":1},"y":{"a":1}}"#, nil), (#"[{"a":1},{"a":1}]"#, nil), (#"{"x":[{"b":1,"b":1}]}"#, 13),
        (#"{"a":"a","b":"a"}"#, nil), (#"{"é":1,"é":2}"#, 8), ("{}", nil),
    ]

    @Test(arguments: repeated) func `Duplicate keys are found`(text: String, offset: Int?) throws {
        let document = try JSONDocument(Array(text.utf8))
        #expect(document.repeatedKey().map { document.offset($0) } == offset)
    }

    @Test(arguments: [
        (#"{"a":1,"a":2}"#, "a"), (#"{"x":{"a":1},"y":{"a":1,"b":0,"a":1}}"#, "y.a"),
        (#"[[],[{"a":1,"a":1}]]"#, "[1][0].a"),
        (#"{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":{"i":1,"i":2}}}}}}}}}"#, "a.b.c.d….f.g.h.i"),
    ]) func `The path of a duplicate key names what contains it`(text: String, path: String) throws {
        let document = try JSONDocument(Array(text.utf8))
        #expect(document.repeatedKey().map { document.path(ofKey: $0) } == path)
    }

    @Test func `A duplicate key is found among many`() throws {
        let members = (0..<20_000).map { "\"key\($0)\":\($0)" }
        let all = try JSONDocument(Array("{\(members.joined(separator: ","))}".utf8))
        #expect(all.repeatedKey() == nil)
        let twice = try JSONDocument(Array("{\(members.joined(separator: ",")),\"key7\":0}".utf8))
        #expect(twice.repeatedKey().flatMap { twice.string($0) } == "key7")
        #expect(twice.repeatedKey().map { twice.path(ofKey: $0) } == "key7")
    }

    @Test func `Every truncated text is rejected, at an offset within it`() throws {
        let text = Array(
            #"{"aps":{"alert":{"title":"Grüße \ud83d\udd14","loc-args":["a",-1.5e+10,true,false,null]},"badge":0},"x":[[{}]]}"#
                .utf8)
        _ = try JSONDocument(text)
        for count in 0..<text.count {
            let error = #expect(throws: JSONError.self) { try JSONDocument(Array(text[..<count])) }
            #expect(error?.offset ?? .max <= count)
            // A cut through a character or a surrogate pair is also reported as an unexpected end.
            #expect([.unexpectedEnd, .empty].contains(error?.code))
        }
    }

    @Test func `Mutated JSON is either parsed and written without loss, or rejected within the text`() throws {
        let texts = [
            #"{"aps":{"alert":"Hello","badge":1,"sound":"default"},"id":12345678901234567890}"#,
            #"{"a":[1,2.5,-3e2,{"b":"\u00e9\ud83d\udd14\n"}],"c":{"d":{"e":[[],{}]}},"f":null,"g":true}"#,
            "[\"é€🔔\",\"\\\\\",0,0.1,false]",
        ].map { Array($0.utf8) }
        var random = SeededRandom(seed: 4711)
        var read = 0
        for round in 0..<RunKind.rounds(200_000) {
            let text = random.mutate(texts[round % texts.count], chance: 0.8)
            do throws(JSONError) {
                let document = try JSONDocument(text)
                read += 1
                guard round % 16 == 0 else { continue }
                let value = document.value(at: document.root)
                let again = try JSONDocument(value.bytes)
                let isObject = document.kind(document.root) == .object
                if again.value(at: again.root) != value || JSONDocument.isObject(text) != isObject {
                    Issue.record("\(String(decoding: text, as: UTF8.self))")
                }
            } catch {
                if error.offset > text.count || JSONDocument.isObject(text) {
                    Issue.record("\(error) in \(String(decoding: text, as: UTF8.self))")
                }
            }
        }
        // If there are too few or too many, the mutations are no longer meaningful.
        #expect((RunKind.rounds(20_000)..<RunKind.rounds(150_000)).contains(read))
    }

    @Test func `Large numbers keep their digits`() throws {
        let document = try JSONDocument(Array("[123456789012345678901234567890,1e400,-5]".utf8))
        let numbers = Array(document.elements(document.root))
        #expect(document.kind(numbers[0]) == .integer)
        #expect(document.integer(numbers[0]) == nil)
        #expect(document.double(numbers[0]) == 1.2345678901234568e29)
        #expect(String(decoding: document.text(numbers[0]), as: UTF8.self) == "123456789012345678901234567890")
        #expect(document.double(numbers[1]) == nil)
        #expect(document.integer(numbers[2]) == -5)
    }

    @Test(
        arguments: [
            ("10", 10), ("10.0", 10), ("1e1", 10), ("0.5e+1", 5), ("50E-1", 5), ("-2.50e1", -25), ("0.0", 0),
            ("0e999", 0),
            ("9223372036854775807.0", .max), ("-9223372036854775808e0", .min), ("9223372036854775808.0", nil),
            ("1.5", nil), ("1e-1", nil), ("1e400", nil), ("1e99999999999999999999", nil),
            ("1e-9223372036854775808", nil),
            ("1." + String(repeating: "0", count: 80), nil), ("\"1\"", nil), ("null", nil),
        ] as [(String, Int64?)])
    func `A whole number is one however it is written`(text: String, value: Int64?) throws {
        let document = try JSONDocument(Array(text.utf8))
        #expect(document.wholeNumber(document.root) == value)
    }

    @Test func `Members are found by name, both literal and escaped`() throws {
        let document = try JSONDocument(Array(#"{"\u0061ps":1,"b":{"c":[2,3]},"b2":4}"#.utf8))
        let aps = try #require(document.value("aps", in: document.root))
        #expect(document.integer(aps) == 1)
        let b = try #require(document.value("b", in: document.root))
        #expect(document.value("c", in: b).map { document.elements($0).map { document.integer($0) } } == [2, 3])
        #expect(document.value("c", in: document.root) == nil)
        #expect(document.value("x", in: aps) == nil)
        #expect(Array(document.elements(document.root)).isEmpty)
    }

    @Test func `An offset is converted to line and column`() {
        let text = Array("{\n  \"a\": x\n}".utf8)
        let error = #expect(throws: JSONError.self) { try JSONDocument(text) }
        let position = JSONError.position(of: error?.offset ?? 0, in: text)
        #expect(position == (2, 8))
        #expect(error?.description == "at byte 9: a value was expected")
    }

    static let written: [(JSONValue, String)] = [
        (nil, "null"), (true, "true"), (-5, "-5"), (0.5, "0.5"), (.number(.nan), "null"), (.number(.infinity), "null"),
        (1e300, "1e+300"), ("a\"\\\n\r\t\u{1}\u{1f}/é🔔", #""a\"\\\n\r\t\u0001\u001f/é🔔""#),
        (["b": 1, "a": [1, "x", [:], []], "ä": nil], #"{"a":[1,"x",{},[]],"b":1,"ä":null}"#),
    ]

    @Test(arguments: written) func `Values are written compactly, with sorted keys`(value: JSONValue, text: String)
        throws
    {
        #expect(String(decoding: value.bytes, as: UTF8.self) == text)
        _ = try JSONDocument(value.bytes)
    }
}
