import PushLoop
import PushModel
import PushTransport
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushPipeline

/// Peers that hold the right key and say what no node says.
@Suite(.waits) struct StrangePeerTests {
    /// A socket of a test, with the handlers of its side.
    private struct Stranger {
        let loop = EventLoop(name: "stranger")
        let context: ZMQContext
        let keys: CurveKeyPair
        let socket: LoopBound<ZMQSocket>

        /// Listens as a node does, and answers each call with what `answers` returns: the frames after the routing id.
        init(
            admitting client: CurvePublicKey, answers: @escaping @Sendable (_ number: [UInt8]) -> [[[UInt8]]]
        ) async throws {
            let (context, keys) = (try ZMQContext(), try CurveKeyPair.generate())
            (self.context, self.keys) = (context, keys)
            _ = try ZAPHandler(in: context, users: [client: "client"])
            let loop = loop
            socket = try await loop.run { () throws(ZMQError) in
                var options = ZMQSocketOptions()
                options.security = .curveServer(secretKey: keys.secretKey, domain: "cluster")
                let socket = try ZMQSocket(.router, in: context, on: loop, options: options)
                socket.onMessage = { [unowned socket] message in
                    let peer = message.copied(0)
                    for frames in answers(message.copied(2)) {
                        _ = socket.send { outbox in
                            outbox.add(peer)
                            for frame in frames { outbox.add(frame) }
                        }
                    }
                }
                return LoopBound(socket, on: loop)
            }
        }

        func listen() async throws -> String {
            try await socket.with { (socket) throws(ZMQError) in try socket.bind("tcp://127.0.0.1:*") }
        }

        /// Connects to a node, and records what it answers.
        init(to node: PeerNode, keys: CurveKeyPair, heard: EventRecorder<[[UInt8]]>) async throws {
            let context = try ZMQContext()
            (self.context, self.keys) = (context, keys)
            let (loop, contact, server) = (loop, node.contact, node.keys.publicKey)
            socket = try await loop.run { () throws(ZMQError) in
                var options = ZMQSocketOptions()
                options.security = .curveClient(keys: keys, serverKey: server)
                let socket = try ZMQSocket(.dealer, in: context, on: loop, options: options)
                socket.onMessage = { message in heard.record((0..<message.count).map { message.copied($0) }) }
                try socket.connect(contact.address)
                return LoopBound(socket, on: loop)
            }
        }

        func send(_ frames: [[UInt8]]) async {
            _ = await socket.with { socket in
                socket.send { outbox in for frame in frames { outbox.add(frame) } }
            }
        }

        func stop() async {
            await socket.with { $0.close() }
            await context.terminate()
            await loop.shutDown()
        }
    }

    private static let answer = Array("cluster-answer/1".utf8)
    private static let accepted: [UInt8] = [0, 1, 0, 7]

    @Test(arguments: [
        // Not the number of the call, no number, no body, and too many frames.
        [[answer, [1, 2, 3, 4, 5, 6, 7, 8], accepted]], [[answer, [], accepted]], [[answer]],
        [[answer, [1, 0, 0, 0, 0, 0, 0, 0], accepted, []]], [[Array("cluster-answer/2".utf8), [], accepted]],
    ])
    func `What is no answer to a call is ignored, and the answer after it counts`(
        messages: [[[UInt8]]]
    ) async throws {
        let a = try await PeerNode("a")
        let stranger = try await Stranger(admitting: a.keys.publicKey) { number in
            messages + [[Self.answer, number, Self.accepted]]
        }
        try await Self.introduce(a, stranger)
        #expect(await a.acceptInTheEnd(PeerRequest.make(1)) == [.accepted(seq: 7)])
        #expect(a.strange.events.count >= 1)
        await stranger.stop()
        await a.stop()
    }

    @Test(
        arguments: [
            [], [9], [0], [0, 2, 0, 7, 0, 8], [0, 1, 0], [0, 1, 8], [0, 1, 0, 7, 1], [1, 0, 1, 1], [2, 1], [3, 200, 1],
        ] as [[UInt8]])
    func `An answer that is not understood fails the request`(body: [UInt8]) async throws {
        let a = try await PeerNode("a")
        let asked = EventRecorder<Void>()
        let stranger = try await Stranger(admitting: a.keys.publicKey) { number in
            asked.record(())
            return [[Self.answer, number, body]]
        }
        try await Self.introduce(a, stranger)
        var answers: [Acceptance] = []
        while asked.events.isEmpty { answers = await a.accept(PeerRequest.make(1)) }
        #expect(answers.first?.isFailure == true && answers.count == 1)
        await stranger.stop()
        await a.stop()
    }

    @Test func `Of two answers, the first counts`() async throws {
        let a = try await PeerNode("a")
        let stranger = try await Stranger(admitting: a.keys.publicKey) { number in
            [[Self.answer, number, Self.accepted], [Self.answer, number, [0, 1, 3]]]
        }
        try await Self.introduce(a, stranger)
        #expect(await a.acceptInTheEnd(PeerRequest.make(1)) == [.accepted(seq: 7)])
        await a.strange.wait(count: 1)
        await stranger.stop()
        await a.stop()
    }

    private static func introduce(_ node: PeerNode, _ stranger: Stranger) async throws {
        let other = try #require(NodeID("s"))
        let contact = NodeContact(address: try await stranger.listen(), publicKey: stranger.keys.publicKey.z85)
        await node.know([other: contact], owner: { _ in other })
    }

    @Test func `Calls that are not understood are refused, and the next one is carried out`() async throws {
        let a = try await PeerNode("a")
        let keys = try CurveKeyPair.generate()
        let other = try #require(NodeID("s"))
        await a.know(
            [other: NodeContact(address: "tcp://127.0.0.1:1", publicKey: keys.publicKey.z85)], owner: { _ in a.id })
        let heard = EventRecorder<[[UInt8]]>()
        let stranger = try await Stranger(to: a, keys: keys, heard: heard)
        let number = PeerNumber.bytes(5)
        var call: [UInt8] = []
        ForwardedCall.append(PeerRequest.make(1)[0], to: &call)
        let accept = Array("cluster-accept/1".utf8)
        for frames in [
            [accept], [accept, number], [accept, [1], call], [accept, number, call, []],
            Array(repeating: [7], count: 16),
        ] {
            await stranger.send(frames)
        }
        let refused: [[[UInt8]]] = [
            [accept, number, []], [accept, number, Array(call.dropLast())], [accept, number, call + [9]],
            [Array("cluster-accept/2".utf8), number, call], [Array("cluster-cancel/1".utf8), number, call],
            [Array("cluster-receipt/1".utf8), number, [255, 0]],
        ]
        for frames in refused { await stranger.send(frames) }
        await stranger.send([accept, number, call])
        let answers = await heard.wait(count: refused.count + 1)
        for answer in answers.dropLast() {
            #expect(answer.count == 3 && answer[1] == number)
            #expect(answer[2].withUnsafeBytes { ForwardedAnswer($0, count: 1) }.isRefusal)
        }
        #expect(answers.last == [Self.answer, number, [0, 1, 0, 1]])
        #expect(a.ledger.requests.count == 1)
        #expect(a.strange.events.count == 5 + refused.count)
        await stranger.stop()
        await a.stop()
    }

    /// A request with words by locale and values of two users, and one without.
    private static func worded() throws -> [PushRequest] {
        var values = UserValues(of: ["ann", "bob"], count: 1)
        for value in ["1", "2"] { _ = values.add(Array(value.utf8)) }
        let forms = ["en", "de"].map {
            Wording.Form(locale: LocaleTag($0), payload: Array("{}".utf8), places: [.init(offset: 1, value: 0)])
        }
        let plain = PeerRequest.make(1)[0]
        let message = Message(
            id: plain.message.id, app: plain.message.app, payload: forms[0].payload,
            wording: Wording(forms, values: values))
        return [PushRequest(message, to: plain.audience), plain]
    }

    @Test func `Words and values reach the node that accepts a message`() throws {
        let requests = try Self.worded()
        var call: [UInt8] = []
        for request in requests { ForwardedCall.append(request, to: &call) }
        let read = try #require(call.withUnsafeBytes { ForwardedCall.requests($0) })
        #expect(read.count == 2 && read[1].message.wording == nil)
        let wording = try #require(read[0].message.wording)
        #expect(wording.forms == requests[0].message.wording?.forms)
        let variant = try #require(wording.variant(locale: "de_AT", user: "bob"))
        #expect(read[0].message.form(variant).payload == Array("{2}".utf8))
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func `Damaged calls and answers never trap`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var call: [UInt8] = []
        for request in PeerRequest.make(3) + (try Self.worded()) { ForwardedCall.append(request, to: &call) }
        let answers: [ForwardedAnswer] = [
            .items([.done(.accepted(seq: .max)), .done(.duplicate(seq: 1)), .done(.conflict(seq: 300)), .notOwned]),
            .items([.done(.expired), .done(.failed("a")), .notOwned, .notOwned]),
            .cancellations([
                .cancelled(CancelCounts(sent: 1, cancelled: 999)), .failed("b"), .tooLate, .unknown,
            ]),
            .receipt(.stored(8)), .receipt(.failed("c")), .refused("no"), .knowledge([]), .knowledge([1, 0, 255]),
        ]
        for answer in answers {
            let bytes = answer.bytes
            #expect(bytes.withUnsafeBytes { ForwardedAnswer($0, count: 4) } == answer)
            for count in 0..<bytes.count {
                #expect(bytes.prefix(count).withUnsafeBytes { ForwardedAnswer($0, count: 4) } == nil)
            }
        }
        for _ in 0..<300 {
            var bytes = Bool.random(using: &random) ? call : answers.randomElement(using: &random)?.bytes ?? []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            bytes.withUnsafeBytes {
                _ = ForwardedCall.requests($0)
                _ = ForwardedCall.cancellations($0)
                _ = ForwardedCall.receipt($0)
                _ = ForwardedAnswer($0, count: 4)
            }
        }
    }
}

extension ForwardedAnswer? {
    fileprivate var isRefusal: Bool { if case .refused? = self { true } else { false } }
}
