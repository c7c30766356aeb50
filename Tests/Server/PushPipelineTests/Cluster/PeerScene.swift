import PushLoop
import PushModel
import PushTransport
import PushWire
import TestSupport

@testable import PushPipeline

/// A node with a ledger in memory, and a socket for other nodes.
final class PeerNode: Sendable {
    let id: NodeID
    let keys: CurveKeyPair
    let ledger = IntakeLedger()
    let receipts = ScriptedReceipts()
    let peers: ClusterPeers
    let forwarding: ForwardingLedger
    let forwardingReceipts: ForwardingReceipts
    let contact: NodeContact
    let stale = EventRecorder<Void>()
    let hints = EventRecorder<Void>()
    let strange = EventRecorder<Void>()
    let warnings = EventRecorder<String>()
    private let table = Locked(OwnerTable())
    private let loop: EventLoop

    init(
        _ name: String, keys: CurveKeyPair? = nil, parts: Int = 16, listen: String = "tcp://127.0.0.1:*",
        adjusting: (inout ClusterPeers.Settings) -> Void = { _ in }
    ) async throws {
        id = NodeID(name)!
        self.keys = try keys ?? .generate()
        loop = EventLoop(name: "peers-\(name)")
        let map = PartitionMap(count: parts)!
        var settings = ClusterPeers.Settings(listen: listen, keys: self.keys, map: map)
        settings.timeout = .seconds(30)
        settings.stale = { [stale] in stale.record(()) }
        settings.hinted = { [hints] in hints.record(()) }
        settings.strange = { [strange] in strange.record(()) }
        settings.warning = { [warnings] in warnings.record($0) }
        adjusting(&settings)
        peers = try await ClusterPeers.start(settings, for: ledger, receipts, on: loop)
        contact = NodeContact(address: await peers.endpoint, publicKey: self.keys.publicKey.z85)
        let table = table
        let owners: @Sendable () -> OwnerTable = { table.withLock { $0 } }
        forwarding = ForwardingLedger(ledger, map: map, owners: owners, peers: peers)
        forwardingReceipts = ForwardingReceipts(receipts, map: map, owners: owners, peers: peers)
    }

    /// Sets what the node knows: the other members, and the owner of each partition.
    func know(_ members: [NodeID: NodeContact], owner: (Int) -> NodeID?, parts: Int = 16) async {
        let owners = (0..<parts).map { part -> OwnerTable.Owner in
            guard let node = owner(part) else { return .nobody }
            return node == id ? .this : members[node].map { .other(node, $0) } ?? .nobody
        }
        let table = OwnerTable(owners: owners, members: members)
        self.table.withLock { $0 = table }
        peers.update(table)
        // The update has been taken when later work of the loop runs.
        await loop.run {}
    }

    func accept(_ requests: [PushRequest]) async -> [Acceptance] {
        await withCheckedContinuation { continuation in
            forwarding.accept(requests) { continuation.resume(returning: $0) }
        }
    }

    func cancel(_ requests: [CancelRequest]) async -> [Cancellation] {
        await withCheckedContinuation { continuation in
            forwarding.cancel(requests) { continuation.resume(returning: $0) }
        }
    }

    func cancel(_ request: CancelRequest) async -> Cancellation {
        await withCheckedContinuation { continuation in
            forwarding.cancel(request) { continuation.resume(returning: $0) }
        }
    }

    /// Repeats a request until another node has accepted it: a connection takes a moment.
    func acceptInTheEnd(_ requests: [PushRequest]) async -> [Acceptance] {
        await wait(for: { await accept(requests) }, until: { !$0.contains(where: \.isFailure) })
    }

    func stop() async {
        await peers.stop()
        // What the ledger answers now is too late. An answer that never came would keep all objects of the node alive.
        ledger.release()
        await loop.run {}
        await loop.shutDown()
    }

    // MARK: Nodes that know each other

    /// Makes the nodes know each other. The owner of a partition is the node with its number modulo the nodes.
    static func introduce(_ nodes: [PeerNode]) async {
        for node in nodes {
            var members: [NodeID: NodeContact] = [:]
            for other in nodes where other.id != node.id { members[other.id] = other.contact }
            await node.know(members, owner: { nodes[$0 % nodes.count].id })
        }
    }

    static func pair() async throws -> (PeerNode, PeerNode) {
        let nodes = (try await PeerNode("a"), try await PeerNode("b"))
        await introduce([nodes.0, nodes.1])
        return nodes
    }
}

extension Acceptance {
    var isFailure: Bool { if case .failed = self { true } else { false } }
    var failure: String? { if case .failed(let reason) = self { reason } else { nil } }
}

/// A log of notifications of stores.
final class ScriptedReceipts: ReceiptLog {
    private let ids = Locked<[String]>([])
    let taken = EventRecorder<ReceivedReceipt>()

    func take(_ receipt: ReceivedReceipt, reply: @escaping @Sendable (ReceiptIntake) -> Void) {
        let number: Int? = ids.withLock { ids in
            if ids.contains(receipt.id) { return nil }
            ids.append(receipt.id)
            return ids.count
        }
        taken.record(receipt)
        reply(number.map { .stored(UInt64($0)) } ?? .duplicate)
    }
}

/// A request with an id that belongs to one of the partitions.
enum PeerRequest {
    static let app = AppID("shop")!

    /// Returns requests with distinct ids of partitions that `isWanted` accepts.
    static func make(
        _ count: Int, parts: Int = 16, payload: [UInt8] = Array(#"{"aps":{"alert":"x"}}"#.utf8),
        where isWanted: (Int) -> Bool = { _ in true }
    ) -> [PushRequest] {
        let map = PartitionMap(count: parts)!
        var requests: [PushRequest] = []
        var number = 0
        while requests.count < count {
            number += 1
            let id = MessageID("m\(number)")!
            guard isWanted(map.partition(of: app, id).number) else { continue }
            var request = PushRequest(Message(id: id, app: app, payload: payload), to: .users(["ann", "bob"]))
            request.client = "orders"
            requests.append(request)
        }
        return requests
    }
}
