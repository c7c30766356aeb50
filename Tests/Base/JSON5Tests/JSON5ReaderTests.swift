import Foundation
import JSON5
import TestSupport
import TestTraits
import Testing

@Suite struct JSON5ReaderTests {
    private func read(_ text: String) throws -> JSONTree { try JSON5Reader.read(Array(text.utf8)) }

    @Test("The syntax that JSON5 adds to JSON is parsed") func readsWhatJSON5Adds() throws {
        let tree = try read(
            """
            // a script
            { seed: 0x2A, /* two
              lines */ 'single': 'it\\'s', "escapes": "\\u00e9\\x41\\uD83D\\uDE00\\
            joined", half: .5, whole: 5., plus: +3, negative: -1e3, $a_1: [1, 2,], nothing: null, yes: true, }
            """)
        #expect(tree["seed"]?.integer == 42)
        #expect(tree["single"]?.string == "it's")
        #expect(tree["escapes"]?.string == "éA😀joined")
        #expect(tree["half"]?.number == 0.5)
        #expect(tree["whole"]?.number == 5)
        #expect(tree["plus"]?.number == 3)
        #expect(tree["negative"]?.number == -1000)
        #expect(tree["$a_1"] == JSONTree(.array([JSONTree(.number(1)), JSONTree(.number(2))])))
        #expect(tree["nothing"]?.value == .null)
        #expect(tree["yes"]?.boolean == true)
        #expect(tree["absent"] == nil)
        #expect(try read("Infinity").number == .infinity)
        #expect(try read("-Infinity").number == -.infinity)
    }

    @Test("Each key and value has its position") func tellsWhereEachKeyAndValueStands() throws {
        let tree = try read("// é\n {\n a: 1,\n /* \n */ b: [2,\n\t'x', {c:\n {}}] }")
        let members = try #require(tree.members)
        #expect(tree.place == JSONTree.Place(line: 2, column: 2))
        #expect(members.map(\.place) == [.init(line: 3, column: 2), .init(line: 5, column: 5)])
        #expect(members.map(\.value.place) == [.init(line: 3, column: 5), .init(line: 5, column: 8)])
        let elements = try #require(members[1].value.elements)
        #expect(
            elements.map(\.place) == [.init(line: 5, column: 9), .init(line: 6, column: 2), .init(line: 6, column: 7)])
        #expect(elements[2].members?.first?.place == .init(line: 6, column: 8))
        #expect(elements[2]["c"]?.place == .init(line: 7, column: 2))
    }

    @Test("Equality does not depend on positions or spelling") func saysTheSameWhereverItStands() throws {
        #expect(try read("{a:[1]}") == read("\n { 'a' :\n [ 1 ] }"))
        #expect(try read("{a:[1]}") != read("{a:[2]}"))
    }

    static let escapes: [(String, String)] = [
        (#"\b\t\n\v\f\r\0"#, "\u{8}\t\n\u{b}\u{c}\r\0"), (#"\u00e9\u00E9\xe9"#, "ééé"), (#"\ud83d\ude00"#, "😀"),
        (#"\ud83d"#, "\u{fffd}"), (#"\ud83dx"#, "\u{fffd}x"), (#"\ude00\ud83d"#, "\u{fffd}\u{fffd}"),
        (#"\ud83d\u0041"#, "\u{fffd}A"), (#"\'\"\\\/\q"#, "'\"\\/q"),
    ]

    @Test("Escape sequences are decoded", arguments: escapes) func resolvesEscapes(_ written: String, _ meant: String)
        throws
    {
        #expect(try read("\"\(written)\"").string == meant)
    }

    static let faulty: [(String, Int, String)] = [
        ("", 1, "it is empty"), ("// Nothing.\n", 2, "it is empty"), ("[", 1, "a value is missing"),
        ("{", 1, "closing brace"), ("{a:1\n b:2}", 2, "comma"), ("[1", 1, "comma"),
        ("{a 1}", 1, "colon"), ("{a:\n}", 2, "cannot begin"), ("{a:b}", 1, "needs quotes"),
        ("'a\nb'", 1, "closing quote"),
        ("{} x", 1, "nothing may follow"), ("/* \n", 1, "comment"), ("01", 1, "not a number"),
        ("1x", 1, "not a number"),
        ("'\\u12'", 1, "four hexadecimal"), ("'\\xg'", 1, "two hexadecimal"), (".", 1, "not a number"),
        ("{1:2}", 1, "key"),
        ("0x", 1, "not a number"), ("+", 1, "not a number"), ("-", 1, "not a number"), ("'\\", 1, "ends early"),
    ]

    @Test("An error has the line and the cause", arguments: faulty) func saysWhatIsWrong(
        _ text: String, _ line: Int, _ part: String
    ) throws {
        let error = try #require(throws: JSON5Error.self) { try read(text) }
        #expect(error.line == line)
        #expect(error.problem.contains(part), "\(error)")
    }

    @Test("The nesting depth is limited") func boundsNesting() {
        #expect(throws: JSON5Error.self) { try read(String(repeating: "[", count: 100_000)) }
        #expect(throws: Never.self) {
            try read(String(repeating: "[", count: 60) + String(repeating: "]", count: 60))
        }
    }

    @Test("Mutated input does not trap, and Foundation accepts the same seeds", .waits)
    func survivesMutationsAndAgreesWithFoundation() {
        var random = SeededRandom(seed: 7)
        let seeds = [
            "{ seed: 0x2A, a: [1, 2.5, -3e2,], 'b': 'c\\'d', /* e */ f: { g: null, h: true } } // end",
            "[.5, 5., +1, 'x', \"y\", {}, [], {a: {b: {c: 1}}}]", "{\"rules\":[{\"match\":{\"share\":0.01}}]}",
        ].map { Array($0.utf8) }
        let alphabet = Array("{}[]\"',:\\ \n0123456789.-+eEtrufalsnx/*_$".utf8) + [0x1f, 0x80, 0xc3, 0xa9]
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        var accepted = 0
        for _ in 0..<10_000 {
            var bytes = seeds.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes.insert(alphabet.randomElement(using: &random)!, at: place)
                case 1: bytes.remove(at: place)
                default: bytes[place] = alphabet.randomElement(using: &random)!
                }
            }
            guard (try? JSON5Reader.read(bytes)) != nil else { continue }
            accepted += 1
        }
        #expect(accepted > 1000)
        for seed in seeds {
            #expect(throws: Never.self) { try decoder.decode(Anything.self, from: Data(seed)) }
            #expect(throws: Never.self) { try JSON5Reader.read(seed) }
        }
    }

    private struct Anything: Decodable {
        init(from decoder: any Decoder) throws {}
    }
}
