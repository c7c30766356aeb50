import Foundation
import TestSupport
import TestTraits
import Testing

@testable import PushSimulator

func scan(_ text: String) -> PayloadFacts? { scan(Array(text.utf8)) }
func scan(_ bytes: [UInt8]) -> PayloadFacts? { ByteView.lending(bytes) { JSONScanner.scan($0) } }

@Suite struct JSONScannerTests {
    static let valid = [
        "{}", "[]", "0", "-0", "1.5", "-1.5e+10", "1E5", "0e0", "\"\"", "true", "false", "null", " \t\r\n{ } \n",
        "{\"a\":1}", "{\"a\":{\"b\":[1,2,{\"c\":null}]},\"d\":\"e\"}", "[[],[[]],{}]", "[1 , 2]",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\"", "\"é€😀 plain text after it, longer than a word\"",
        "{\"aps\":{\"alert\":\"Guten Tag, schöne Welt\",\"badge\":3},\"x\":[true,false,null]}", "\"\u{7f}\"",
        "{\"0123456701234567\":\"01234567012345670\"}", "123456789012345678901234567890", "{\"\":\"\"}",
        "{\"a\":1,\"a\":2}", "\"\\ud800\"",
    ]
    static let invalid = [
        "", " ", "{", "}", "[", "]", "{]", "[}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "[1,]", "[,1]", "[1 2]",
        "{\"a\" 1}", "{a:1}", "{'a':1}", "01", "-", "+1", ".5", "1.", "1e", "1e+", "0x10", "--1", "1.e5", "tru",
        "truee", "True", "nul", "NaN", "Infinity", "\"", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"",
        "\"a\nb\"", "\"a\tb\"", "{} {}", "{}x", "1 2", "\"a\" \"b\"", "{\"a\":1}}", "[[]", "//\n{}",
        "{\"a\":1 \"b\":2}",
        "\u{feff}{}", "{1:2}", "{null:1}", "\\u0022a\"", "[\"a\",\n\"b\"", "'a'",
    ]
    static let invalidBytes: [[UInt8]] = [
        [0x22, 0x80, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xc1, 0xbf, 0x22], [0x22, 0xc3, 0x22],
        [0x22, 0xe0, 0x9f, 0xbf, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xe2, 0x82, 0x22],
        [0x22, 0xf0, 0x8f, 0xbf, 0xbf, 0x22], [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22],
        [0x22, 0xf5, 0x80, 0x80, 0x80, 0x22],
        [0x22, 0xff, 0x22], [0x22, 0x00, 0x22], [0x22, 0xe2, 0x28, 0xa1, 0x22], [0x22, 0xf0, 0x9f, 0x98, 0x28, 0x22],
        [0x22, 0xe2, 0x82], [0x00], [0x7b, 0x7d, 0x00],
    ]

    @Test("Valid JSON is accepted", arguments: valid)
    func accepts(_ text: String) {
        #expect(scan(text) != nil)
    }

    @Test("Invalid JSON is rejected", arguments: invalid)
    func refuses(_ text: String) {
        #expect(scan(text) == nil)
    }

    @Test("Invalid UTF-8 is rejected", arguments: invalidBytes)
    func refusesWhatIsNotUTF8(_ bytes: [UInt8]) {
        #expect(scan(bytes) == nil)
    }

    /// The scanner reads eight bytes per step, so each byte is tested at every offset of a step.
    @Test("Special bytes are recognized at every offset", arguments: ["\"", "\\", "\u{1}", "\u{1f}"])
    func seesSpecialBytesAtEveryPlace(_ special: String) {
        for length in 0..<40 {
            let plain = String(repeating: "x", count: length)
            #expect(scan("\"\(plain)\"") != nil)
            #expect(scan("\"\(plain)\(special)\(plain)\"") == nil, "\(length)")
            #expect(scan("\"\(plain)é\(plain)\"") != nil)
        }
    }

    @Test("The nesting depth is limited")
    func boundsNesting() {
        for (depth, accepted) in [(63, true), (64, false), (100_000, false)] {
            let arrays = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            #expect((scan(arrays) != nil) == accepted)
            let objects = String(repeating: "{\"a\":", count: depth) + "1" + String(repeating: "}", count: depth)
            #expect((scan(objects) != nil) == accepted)
        }
    }

    @Test("Every truncation is rejected")
    func refusesEveryTruncation() {
        let whole = Array("{\"aps\":{\"alert\":{\"title\":\"a\\u00e9€\"},\"badge\":-1.5e3},\"x\":[true,null]}".utf8)
        #expect(scan(whole) != nil)
        for length in 0..<whole.count { #expect(scan(Array(whole[..<length])) == nil, "\(length)") }
    }

    @Test("The scanner and Foundation agree on mutated texts", .waits)
    func agreesWithFoundationOnMutations() {
        var random = SeededRandom(seed: 0x5eed)
        let seeds = Self.valid.map { Array($0.utf8) } + Self.invalid.map { Array($0.utf8) }
        let alphabet =
            Array("{}[]\",:\\ \n0123456789.-+eEtrufalsn/bx".utf8) + [0x1f, 0x80, 0xc3, 0xa9, 0xe2, 0x82, 0xac]
        var compared = 0
        for _ in 0..<RunKind.rounds(30_000) {
            var bytes = seeds.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0...bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes.insert(alphabet.randomElement(using: &random)!, at: place)
                case 1 where place < bytes.count: bytes.remove(at: place)
                case 2 where place < bytes.count: bytes[place] = alphabet.randomElement(using: &random)!
                default: bytes.replaceSubrange(place..., with: seeds.randomElement(using: &random)!)
                }
            }
            let ours = scan(bytes) != nil
            guard isJudgedAlike(bytes) else { continue }
            compared += 1
            let theirs = (try? JSONSerialization.jsonObject(with: Data(bytes), options: [.fragmentsAllowed])) != nil
            #expect(ours == theirs, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
        #expect(compared > RunKind.rounds(10_000))
    }

    /// Returns whether Foundation follows the grammar for these bytes. It rejects numbers out of range and unpaired
    /// surrogates, detects other encodings, and accepts trailing commas.
    private func isJudgedAlike(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        return !text.contains("\\u") && !bytes.contains(0) && !text.hasPrefix("\u{feff}")
            && !text.contains(/,[ \t\r\n]*[\]}]/) && !text.lowercased().contains("e+")
            && text.filter(\.isNumber).count < 15 && !text.contains(/[eE][0-9]{2}/)
    }
}

@Suite struct PayloadFactsTests {
    @Test("Objects are distinguished from other values")
    func tellsObjectsFromTheRest() {
        #expect(scan("{}")?.isObject == true)
        for text in ["[]", "1", "\"a\"", "[{}]", "null"] { #expect(scan(text)?.isObject == false) }
    }

    @Test("The key `aps` is found at the top level only")
    func findsAPS() {
        #expect(scan("{\"aps\":{}}")?.hasAPS == true)
        #expect(scan("{\"\\u0061ps\":{}}")?.hasAPS == true)
        #expect(scan("{\"x\":{\"aps\":{}}}")?.hasAPS == false)
        #expect(scan("[{\"aps\":{}}]")?.hasAPS == false)
        let mistyped = scan("{\"aps\":[]}")
        #expect(mistyped?.hasAPS == false)
        #expect(mistyped?.hasMistypedAPS == true)
        #expect(scan("{\"aps\":{},\"aps\":{}}")?.repeatsAPS == true)
        #expect(scan("{\"aps\":{},\"bps\":{}}")?.repeatsAPS == false)
    }

    @Test("Only the keys of `aps` are noted")
    func namesKeysOfAPSOnly() {
        let facts = scan("{\"alert\":1,\"aps\":{\"badge\":1,\"sound\":{\"alert\":\"x\"}},\"category\":\"c\"}")
        #expect(facts?.keys == [.badge, .sound])
        #expect(facts?.mistyped == [])
        #expect(facts?.hasUnknownKey == false)
    }

    static let keys: [(String, String, APSKeys)] = [
        ("alert", "\"a\"", .alert), ("alert", "{}", .alert), ("badge", "0", .badge), ("sound", "\"s\"", .sound),
        ("sound", "{\"critical\":1}", .sound), ("thread-id", "\"t\"", .threadID), ("category", "\"c\"", .category),
        ("content-available", "1", .contentAvailable), ("mutable-content", "1", .mutableContent),
        ("target-content-id", "\"t\"", .targetContentID), ("interruption-level", "\"active\"", .interruptionLevel),
        ("relevance-score", "0.5", .relevanceScore), ("filter-criteria", "\"f\"", .filterCriteria),
        ("content-changed", "true", .contentChanged), ("url-args", "[]", .urlArgs), ("event", "\"end\"", .event),
        ("content-state", "{}", .contentState), ("timestamp", "1", .timestamp), ("stale-date", "1", .staleDate),
        ("dismissal-date", "1", .dismissalDate), ("attributes-type", "\"T\"", .attributesType),
        ("attributes", "{}", .attributes), ("input-push-token", "1", .inputPushToken),
        ("input-push-channel", "\"c\"", .inputPushChannel),
    ]

    @Test("Every key of `aps` is known with the type of its value", arguments: keys)
    func knows(name: String, value: String, key: APSKeys) {
        let right = scan("{\"aps\":{\"\(name)\":\(value)}}")
        #expect(right?.keys == key)
        #expect(right?.mistyped == [])
        #expect(right?.repeated == [])
        let wrong = scan("{\"aps\":{\"\(name)\":null}}")
        #expect(wrong?.mistyped == key)
        let twice = scan("{\"aps\":{\"\(name)\":\(value),\"x\":1,\"\(name)\":\(value)}}")
        #expect(twice?.repeated == key)
        #expect(twice?.hasUnknownKey == true)
        let escaped = scan("{\"aps\":{\"\\u00\(String(name.utf8.first!, radix: 16))\(name.dropFirst())\":\(value)}}")
        #expect(escaped?.keys == key)
    }

    @Test("The values that the payload rules need are read")
    func readsTheValuesThatMatter() {
        #expect(scan("{\"aps\":{\"content-available\":1}}")?.isContentAvailable == true)
        for other in ["0", "2", "true", "\"1\"", "10", "1.0"] {
            #expect(scan("{\"aps\":{\"content-available\":\(other)}}")?.isContentAvailable == false)
        }
        #expect(scan("{\"aps\":{\"content-changed\":true}}")?.isContentChanged == true)
        #expect(scan("{\"aps\":{\"content-changed\":1}}")?.isContentChanged == false)
        for (name, event) in [("start", PayloadFacts.Event.start), ("update", .update), ("end", .end), ("x", .unknown)]
        {
            #expect(scan("{\"aps\":{\"event\":\"\(name)\"}}")?.event == event)
        }
        #expect(scan("{\"aps\":{\"event\":1}}")?.event == .unknown)
        #expect(scan("{\"aps\":{}}")?.event == PayloadFacts.Event.none)
        #expect(scan("{\"mdm\":\"magic\"}")?.hasMDM == true)
        #expect(scan("{\"mdm\":1}")?.hasMDM == false)
        #expect(scan("{\"container-identifier\":\"c\"}")?.hasContainerIdentifier == true)
    }
}
