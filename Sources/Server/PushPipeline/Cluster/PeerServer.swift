import PushLoop
import PushModel
import PushTransport
import PushWire

/// The socket at which other nodes of the cluster hand in calls for partitions of this one. Confined to its loop.
///
/// A call is carried out by the ledger of this node or refused. It is never passed on, so that no call goes in circles.
final class PeerServer {
    private let loop: EventLoop
    private let settings: ClusterPeers.Settings
    private let ledger: any Ledger
    private let receipts: any ReceiptLog
    private let socket: ZMQSocket
    /// The endpoint with the port that was chosen.
    let endpoint: String
    var table = OwnerTable()
    /// The size of the calls that the ledger has not answered.
    private var unansweredBytes = 0

    init(
        _ settings: ClusterPeers.Settings, for ledger: any Ledger, _ receipts: any ReceiptLog, in context: ZMQContext,
        on loop: EventLoop
    ) throws(ZMQError) {
        self.settings = settings
        self.ledger = ledger
        self.receipts = receipts
        self.loop = loop
        var options = ZMQSocketOptions()
        options.linger = .zero
        options.maxFrameSize = ClusterPeers.maxFrameSize
        options.ignoresResets = true
        options.security = .curveServer(secretKey: settings.keys.secretKey, domain: ClusterPeers.domain)
        socket = try ZMQSocket(.router, in: context, on: loop, options: options)
        do throws(ZMQError) {
            endpoint = try socket.bind(settings.listen)
        } catch {
            socket.close()
            throw error
        }
        socket.onMessage = { [unowned self] message in take(message) }
        socket.onMalformed = { [settings] _, _ in settings.strange() }
    }

    func close() { socket.close() }

    // MARK: Calls

    private func take(_ message: borrowing ZMQMessage) {
        guard message.count == 4, let number = unsafe message.withBytes(ofFrame: 2, { unsafe PeerNumber.read($0) })
        else { return settings.strange() }
        let peer = message.copied(0)
        // The key may have been removed since the connection was made.
        guard let name = message.userID, let node = NodeID(name), table.members[node] != nil else {
            return send(.refused("this node does not know the other as a member"), number, to: peer)
        }
        let size = message.byteCount(ofFrame: 3)
        guard unansweredBytes + size <= settings.maxOpenBytes else {
            return send(.refused("this node has too many open calls"), number, to: peer)
        }
        if message.isFrame(1, equalTo: PeerNumber.accept) {
            let requests = unsafe message.withBytes(ofFrame: 3) { unsafe ForwardedCall.requests($0) }
            guard let requests else { return refuseStrange(number, to: peer) }
            accept(requests, size: size, number, from: peer)
        } else if message.isFrame(1, equalTo: PeerNumber.cancel) {
            let requests = unsafe message.withBytes(ofFrame: 3) { unsafe ForwardedCall.cancellations($0) }
            guard let requests else { return refuseStrange(number, to: peer) }
            cancel(requests, size: size, number, from: peer)
        } else if message.isFrame(1, equalTo: PeerNumber.receipt) {
            let receipt = unsafe message.withBytes(ofFrame: 3) { unsafe ForwardedCall.receipt($0) }
            guard let receipt else { return refuseStrange(number, to: peer) }
            take(receipt, size: size, number, from: peer)
        } else if message.isFrame(1, equalTo: PeerNumber.ask) {
            ask(message.copied(3), size: size, number, from: peer)
        } else if message.isFrame(1, equalTo: PeerNumber.hint) {
            settings.hinted()
        } else {
            refuseStrange(number, to: peer)
        }
    }

    private func refuseStrange(_ number: UInt64, to peer: [UInt8]) {
        settings.strange()
        send(.refused("this node does not understand the call; start the same version of Carillon"), number, to: peer)
    }

    private func accept(_ requests: [PushRequest], size: Int, _ number: UInt64, from peer: [UInt8]) {
        let isMine = requests.map { table[settings.map.partition(of: $0)] == .this }
        let mine = zip(requests, isMine).filter(\.1).map(\.0)
        guard !mine.isEmpty else {
            return send(.items(requests.map { _ in .notOwned }), number, to: peer)
        }
        unansweredBytes += size
        let me = LoopBound(self, on: loop)
        ledger.accept(mine) { acceptances in
            me.loop.executeUnlessStopped {
                var next = acceptances.makeIterator()
                let items = isMine.map { isMine -> ForwardedAnswer.Item in
                    isMine ? next.next().map { .done($0) } ?? .notOwned : .notOwned
                }
                me.wrapped.finish(.items(items), size: size, number, to: peer)
            }
        }
    }

    private func cancel(_ requests: [CancelRequest], size: Int, _ number: UInt64, from peer: [UInt8]) {
        guard let parts = requests[0].parts ?? settings.map.partition(ofAll: requests).map({ [$0.number] }),
            parts.allSatisfy({ $0 < settings.map.count })
        else { return refuseStrange(number, to: peer) }
        let isMine = parts.allSatisfy { PartitionID($0).map { table[$0] == .this } ?? false }
        guard isMine else {
            return send(.items(requests.map { _ in .notOwned }), number, to: peer)
        }
        unansweredBytes += size
        let me = LoopBound(self, on: loop)
        ledger.cancel(requests) { results in
            me.loop.executeUnlessStopped { me.wrapped.finish(.cancellations(results), size: size, number, to: peer) }
        }
    }

    private func take(_ receipt: ReceivedReceipt, size: Int, _ number: UInt64, from peer: [UInt8]) {
        guard table[settings.map.partition(of: receipt)] == .this else {
            return send(.items([.notOwned]), number, to: peer)
        }
        unansweredBytes += size
        let me = LoopBound(self, on: loop)
        receipts.take(receipt) { result in
            me.loop.executeUnlessStopped { me.wrapped.finish(.receipt(result), size: size, number, to: peer) }
        }
    }

    private func ask(_ question: [UInt8], size: Int, _ number: UInt64, from peer: [UInt8]) {
        guard let answer = settings.answer else {
            return send(.refused("this node does not answer questions yet"), number, to: peer)
        }
        unansweredBytes += size
        let me = LoopBound(self, on: loop)
        answer(question) { content in
            me.loop.executeUnlessStopped {
                let answer =
                    content.map { ForwardedAnswer.knowledge($0) }
                    ?? .refused("this node does not understand the question; start the same version of Carillon")
                me.wrapped.finish(answer, size: size, number, to: peer)
            }
        }
    }

    private func finish(_ answer: ForwardedAnswer, size: Int, _ number: UInt64, to peer: [UInt8]) {
        unansweredBytes -= size
        send(answer, number, to: peer)
    }

    /// Sends an answer. If the other node has gone or does not read, the answer is dropped: that node gives the call up
    /// by itself.
    private func send(_ answer: ForwardedAnswer, _ number: UInt64, to peer: [UInt8]) {
        guard !socket.isClosed else { return }
        _ = socket.send { outbox in
            outbox.add(peer)
            outbox.add(PeerNumber.answer)
            outbox.add(PeerNumber.bytes(number))
            outbox.add(answer.bytes)
        }
    }
}

extension PartitionMap {
    /// Returns the partition of requests to cancel one id; nil if they belong to several, as those of an app each do in
    /// stores of earlier versions.
    func partition(ofAll requests: [CancelRequest]) -> PartitionID? {
        guard let first = requests.first.map({ partition(of: $0.app, $0.id) }) else { return nil }
        return requests.allSatisfy { partition(of: $0.app, $0.id) == first } ? first : nil
    }

    /// Returns the partition of a notification of a store, whose id may be any text.
    func partition(of receipt: ReceivedReceipt) -> PartitionID {
        guard let id = MessageID(accepted: receipt.id) else { return PartitionID(remainder: 0, of: count) }
        return partition(of: receipt.app, id)
    }
}
