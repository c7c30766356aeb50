import PushModel
import TestSupport
import TestTraits
import Testing

@testable import PushWire

/// Compares the parser of intake with the parser of payloads, which is an independent implementation.
@Suite struct EnvelopeMutationTests {
    typealias Examples = EnvelopeExamples

    static let texts: [[UInt8]] = [
        Examples.envelope(
            #""push_type":"voip","priority":5,"expires_at":1767225600,"not_before":1767200000,"collapse_id":"c","#
                + #""on_unknown":"drop","again":true,"traceparent":"00-ab""#),
        Examples.envelope(#""payload": {"aps":{"alert":"a\u0041\ud83d\ude00 ü"},"x":[1.50,-0,1e9,{"y":null}]}"#),
        Examples.envelope(#""alert":{"title":"T","body":"B"},"badge":3,"sound":"x","custom":{"a":[true,false,{}]}"#),
        Examples.envelope(
            #""alert":{"body":"B"},"image":"https://a.example/b","link":"a:b","category":"c","thread":"t""#),
        Examples.envelope(to: #"{"tokens":["\#(Examples.token)","ab","AB","cdef"]}"#),
        Examples.envelope(to: #"{"devices":["00112233445566778899aabbccddeeff"]}"#),
        Examples.envelope(to: #"{"users":["a","b","\u00e9","a"]}"#),
        Examples.envelope(to: #"{"tags":{"all":["a",{"any":["b","c"]},{"not":"d"}]}}"#),
        Examples.envelope(#""payload":{}"#, to: #"{"all":true}"#),
        Examples.envelope(#""alert":{"locales":{"en":"a","de_CH":{"body":"b"}},"default":"en"}"#, to: #"{"all":true}"#),
        Examples.envelope(
            #""alert":{"body":"{n} {{ {m}"},"values":{"a":{"n":"1","m":"\""},"b":{"n":"","m":"2"}}"#,
            to: #"{"users":["b","a"]}"#),
    ].map { Array($0.utf8) }

    /// Pieces of text that mutations of single bytes would rarely produce.
    static let pieces = [
        "{}", "[]", "[[", "{\"", "\"", "\\", "\\u00", "\\ud800", "\\\"", ",", ":", "null", "true", "fals", "-", "0",
        "00", "1.",
        "1e", "1.0", "1e5", "-0", "9223372036854775808", " ", "\t", "\u{b}", "\0", "\u{feff}", "é", "\"id\":",
        "\"to\":", "}", "]",
    ].map { Array($0.utf8) }

    static func mutated(_ random: inout SeededRandom) -> [UInt8] {
        var text = random.mutate(texts[Int.random(in: 0..<texts.count, using: &random)], chance: 0.6)
        while Int.random(in: 0..<3, using: &random) == 0 {
            let piece = pieces[Int.random(in: 0..<pieces.count, using: &random)]
            let at = Int.random(in: 0...text.count, using: &random)
            let end = Bool.random(using: &random) ? at : min(text.count, at + piece.count)
            text.replaceSubrange(at..<end, with: piece)
        }
        return text
    }

    @Test func `Both parsers find the same values in a text, or both reject it`() {
        var random = SeededRandom(seed: 4711)
        var index = JSONIndex()
        var (taken, refused) = (0, 0)
        for _ in 0..<RunKind.rounds(20_000) {
            let text = Self.mutated(&random)
            let padded = ByteView.lending(text) { index.padded($0) }
            let verdict = index.read(padded)
            guard let document = try? JSONDocument(text) else {
                #expect(verdict != .json, "\(String(decoding: text, as: UTF8.self))")
                refused += 1
                continue
            }
            guard verdict == .json, let json = index.values(in: padded) else {
                Issue.record("rejected: \(String(decoding: text, as: UTF8.self))")
                continue
            }
            #expect(Self.isSame(json, document), "\(String(decoding: text, as: UTF8.self))")
            taken += 1
        }
        // If there are too few of either, the mutations are no longer meaningful.
        #expect(taken > RunKind.rounds(2000))
        #expect(refused > RunKind.rounds(2000))
    }

    private static func isSame(_ json: IndexedJSON, _ document: JSONDocument) -> Bool {
        json.count == document.nodes.count
            && document.nodes.indices.allSatisfy { position in
                let node = document.nodes[position]
                return json.kind(position) == node.kind && json.next(position) == Int(node.next)
                    && json.raw(position).copied.elementsEqual(document.bytes[Int(node.start)..<Int(node.end)])
                    && (node.kind != .array
                        || json.size(position) == Array(document.elements(.init(index: UInt32(position)))).count)
                    && (node.kind != .object
                        || json.size(position) == Array(document.members(.init(index: UInt32(position)))).count)
            }
    }

    @Test func `An accepted request equals its envelope, and a rejection has a reason`() throws {
        var random = SeededRandom(seed: 815)
        let reader = EnvelopeReader(apps: Examples.apps)
        var taken = 0
        var reasons: Set<RejectionReason> = []
        for round in 0..<RunKind.rounds(20_000) {
            let text = Self.mutated(&random)
            let frame = round % 2 == 0 ? random.mutate(Array(Examples.frame.utf8), chance: 0.2) : nil
            switch Examples.read(text, frame: frame, by: reader) {
            case .success(let request):
                taken += 1
                try check(request, text, frame)
            case .failure(let fault):
                reasons.insert(fault.rejection.reason)
                #expect(!fault.rejection.detail.isEmpty)
                #expect((fault.id?.utf8.count ?? 0) <= 128)
            }
        }
        #expect(taken > RunKind.rounds(1000))
        #expect(
            reasons.isSuperset(of: [
                .badJSON, .missingField, .badField, .unknownApp, .badAudience, .badToken, .badPayload,
            ]))
    }

    private func check(_ request: PushRequest, _ text: [UInt8], _ frame: [UInt8]?) throws {
        let json = try JSONDocument(text)
        func value(_ key: StaticString) -> JSONDocument.Position? { json.value(key, in: json.root) }
        let message = request.message
        #expect(value("id").flatMap { json.string($0) } == message.id.text)
        #expect(value("app").flatMap { json.string($0) } == message.app.name)
        #expect(
            value("priority").map { json.integer($0) } ?? message.priority.rawValue.signed
                == message.priority.rawValue.signed)
        #expect(value("expires_at").flatMap { json.integer($0) } == message.expiry.expiresAt)
        #expect(value("collapse_id").flatMap { json.string($0) } == message.collapseID?.text)
        #expect(value("traceparent").flatMap { json.string($0) } == message.traceparent)
        #expect(JSONDocument.isObject(message.payload))
        if let inline = value("payload") {
            #expect(Array(json.text(inline)) == message.payload)
        } else if let frame {
            #expect(frame == message.payload)
        }
        let to = try #require(value("to"))
        switch request.audience {
        case .tokens(let tokens):
            let named = json.elements(try #require(json.value("tokens", in: to))).map { json.string($0)?.lowercased() }
            #expect(Set(tokens.map(\.hex)) == Set(named))
            #expect(tokens.count == Set(named).count)
        case .users(let users):
            let named = json.elements(try #require(json.value("users", in: to))).map { json.string($0) }
            #expect(Set(users) == Set(named))
        case .devices(let devices):
            let named = json.elements(try #require(json.value("devices", in: to))).map { json.string($0) }
            #expect(devices.map(\.description) == named)
        case .tags: #expect(json.value("tags", in: to) != nil)
        case .everyone: #expect(json.value("all", in: to).flatMap { json.bool($0) } == true)
        case .activities(let names):
            let named = json.elements(try #require(json.value("activities", in: to))).map { json.string($0) }
            #expect(Set(names) == Set(named))
        }
    }

    @Test func `A line gives the same result in a batch and alone`() throws {
        var random = SeededRandom(seed: 42)
        let reader = EnvelopeReader(apps: Examples.apps)
        for _ in 0..<300 {
            let lines = (0..<20).map { _ in Self.mutated(&random).filter { $0 != UInt8(ascii: "\n") } }
            let frame = Lent(Array(lines.joined(separator: [UInt8(ascii: "\n")])) + [UInt8(ascii: "\n")])
            var results: [Result<PushRequest, EnvelopeFault>] = []
            try reader.readBatch(frame.bytes, now: Examples.now) { results.append($0) }
            #expect(results.count == lines.count)
            for (line, result) in zip(lines, results) {
                switch (result, Examples.read(line, frame: nil)) {
                case (.success(let one), .success(let other)):
                    #expect(one.audience == other.audience)
                    #expect(one.message.payload == other.message.payload)
                    #expect(one.message.id == other.message.id)
                case (.failure(let one), .failure(let other)):
                    #expect(one == other)
                default:
                    Issue.record("\(String(decoding: line, as: UTF8.self))")
                }
            }
        }
    }
}

extension UInt8 {
    fileprivate var signed: Int64 { Int64(self) }
}
