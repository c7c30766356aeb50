import PushModel
import PushTransport
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushPipeline

/// Requests to families that one node passes to another.
@Suite(.waits) struct ForwardedFamilyTests {
    private static func family(_ id: MessageID, payload: [UInt8] = [1]) -> [PushRequest] {
        ["shop", "news", "web"].enumerated().map { place, app in
            var request = PushRequest(
                Message(id: id, app: AppID(app)!, payload: payload), to: .users(["ann"]))
            request.isJoined = place > 0
            return request
        }
    }

    @Test func `All members go to one owner in one call, whatever its size`() async throws {
        let nodes = [
            try await PeerNode("a") { $0.maxMessageBytes = 1 }, try await PeerNode("b") { $0.maxMessageBytes = 1 },
        ]
        await PeerNode.introduce(nodes)
        let ids = PeerRequest.make(20).map(\.message.id)
        let answers = await nodes[0].acceptInTheEnd(ids.flatMap { Self.family($0) })
        #expect(answers.count == 60)
        for node in nodes {
            let requests = node.ledger.requests
            #expect(!requests.isEmpty && requests.count.isMultiple(of: 3))
            for start in stride(from: 0, to: requests.count, by: 3) {
                let family = requests[start..<start + 3]
                #expect(family.map(\.isJoined) == [false, true, true])
                #expect(Set(family.map(\.message.id)).count == 1)
            }
        }
        // The owner withholds what is new if one member is in conflict.
        let known = try #require(ids.first)
        var changed = Self.family(known, payload: [2])
        changed[1] = PushRequest(Message(id: known, app: AppID("new")!, payload: [2]), to: .users(["ann"]))
        changed[1].isJoined = true
        for node in nodes {
            let refused = await node.accept(changed)
            #expect(refused.count == 3 && refused[1] == .withheld, "\(refused)")
        }
        for node in nodes { await node.stop() }
    }

    @Test func `A cancellation goes to the owner as one, and each app is answered`() async throws {
        let nodes = [try await PeerNode("a"), try await PeerNode("b")]
        await PeerNode.introduce(nodes)
        let apps = ["shop", "news", "web"].compactMap { AppID($0) }
        let ids = PeerRequest.make(12).map(\.message.id)
        _ = await nodes[0].acceptInTheEnd(ids.flatMap { Self.family($0) })
        for id in ids {
            let requests = apps.map { CancelRequest(id, of: $0, by: "orders") }
            let answers = await nodes[0].cancel(requests)
            #expect(answers == Array(repeating: .cancelled(CancelCounts(sent: 3, cancelled: 4)), count: 3))
        }
        #expect(nodes.allSatisfy { !$0.ledger.cancels.isEmpty && $0.ledger.cancels.count.isMultiple(of: 3) })
        #expect(nodes.reduce(0) { $0 + $1.ledger.cancels.count } == 36)
        for node in nodes { await node.stop() }
    }

    @Test func `A cancellation of several ids, of too many apps or of none is invalid`() throws {
        let requests = try (0...Family.maxMembers).map { number in
            CancelRequest(try #require(MessageID("m")), of: try #require(AppID("a\(number)")))
        }
        func read(_ requests: [CancelRequest]) -> [CancelRequest]? {
            ForwardedCall.bytes(requests).withUnsafeBytes { ForwardedCall.cancellations($0) }
        }
        #expect(read(Array(requests.dropLast())) == Array(requests.dropLast()))
        #expect(read(requests) == nil && read([]) == nil)
        let other = CancelRequest(try #require(MessageID("n")), of: requests[0].app)
        #expect(read([requests[0], other]) == nil)
        let old = try #require(PartitionMap(count: 64, by: .appAndID))
        #expect(old.partition(ofAll: Array(requests.prefix(1))) != nil && old.partition(ofAll: requests) == nil)
        #expect(PartitionMap(count: 64)?.partition(ofAll: requests) != nil)
    }

    @Test func `A call whose first request is joined to none is invalid`() {
        var request = PushRequest(Message(id: MessageID("m")!, app: AppID("shop")!, payload: []), to: .everyone)
        request.isJoined = true
        var bytes: [UInt8] = []
        ForwardedCall.append(request, to: &bytes)
        #expect(bytes.withUnsafeBytes { ForwardedCall.requests($0) } == nil)
        let answer = ForwardedAnswer.items([.done(.withheld), .done(.crowded)])
        #expect(answer.bytes.withUnsafeBytes { ForwardedAnswer($0, count: 2) } == answer)
    }
}
