import PushLoop
import PushModel
import PushTime
import PushTransport

/// The connection to one other node, and the calls that it has not answered. Confined to its loop.
///
/// Each call is answered once: by the node, or with a reason when the node does not answer in time, when the connection
/// is lost, or when too much is unanswered already. A call that had no answer may have been carried out.
final class PeerLink {
    /// The body of the answer, or why there is none.
    typealias Outcome = Result<[UInt8], LedgerFault>

    private struct Call {
        let size: Int
        let deadline: MonotonicTime
        let reply: (Outcome) -> Void
    }

    let node: NodeID
    let contact: NodeContact
    /// Distinguishes the connection from an earlier one to the same node.
    var number = 0
    /// Called with whether the other node can be reached, after each change.
    var onChange: ((Bool) -> Void)?
    /// Called when the node does not know the key of this one. libzmq does not try again by itself.
    var onRefused: (() -> Void)?

    private let loop: EventLoop
    private let settings: ClusterPeers.Settings
    private let socket: ZMQSocket
    private var monitor: ZMQMonitor?
    private var calls: [UInt64: Call] = [:]
    private var newest: UInt64 = 0
    /// The calls up to this one have been answered.
    private var oldest: UInt64 = 1
    private(set) var unansweredBytes = 0
    private var timer = DeadlineTimer()

    init(
        to node: NodeID, at contact: NodeContact, _ settings: ClusterPeers.Settings, in context: ZMQContext,
        on loop: EventLoop
    ) throws(ZMQError) {
        self.node = node
        self.contact = contact
        self.settings = settings
        self.loop = loop
        var options = ZMQSocketOptions()
        options.onlyToConnected = true
        options.linger = .zero
        options.maxFrameSize = ClusterPeers.maxFrameSize
        options.maxReconnectInterval = .seconds(2)
        options.security = .curveClient(keys: settings.keys, serverKey: try CurvePublicKey(z85: contact.publicKey))
        socket = try ZMQSocket(.dealer, in: context, on: loop, options: options)
        do throws(ZMQError) {
            monitor = try socket.monitor { [weak self] event in self?.changed(event.kind) }
            socket.onMessage = { [unowned self] message in take(message) }
            try socket.connect(contact.address)
        } catch {
            socket.close()
            throw error
        }
    }

    func close(_ reason: String) {
        timer.disarm(on: loop)
        (onRefused, onChange) = (nil, nil)
        socket.close()
        failAll(reason)
    }

    private func changed(_ kind: ZMQMonitorEvent.Kind) {
        switch kind {
        case .handshakeSucceeded: onChange?(true)
        case .disconnected:
            onChange?(false)
            failAll("the connection to node \(node) was lost; repeat the request")
        case .handshakeFailedAuthentication, .handshakeFailedProtocol: onRefused?()
        default: break
        }
    }

    // MARK: Calls

    /// Sends a call. The reply may come from within this function.
    func send(_ kind: StaticString, _ body: [UInt8], reply: @escaping (Outcome) -> Void) {
        guard unansweredBytes + body.count <= settings.maxUnansweredBytes, calls.count < settings.maxUnansweredCalls
        else {
            return reply(
                .fault("node \(node) has not answered \(calls.count) earlier calls; repeat the request later"))
        }
        let number = newest + 1
        let result = socket.send { outbox in
            outbox.add(kind)
            outbox.add(PeerNumber.bytes(number))
            outbox.add(body)
        }
        guard case .sent = result else {
            return reply(.fault("node \(node) is not connected; repeat the request"))
        }
        newest = number
        let deadline = loop.now + settings.timeout
        calls[number] = Call(size: body.count, deadline: deadline, reply: reply)
        unansweredBytes += body.count
        if !timer.isArmed(on: loop) { arm(at: deadline) }
    }

    /// Sends a hint, which has no answer and may be lost.
    func hint() {
        _ = socket.send { outbox in
            outbox.add(PeerNumber.hint)
            outbox.add(PeerNumber.bytes(0))
            outbox.addEmpty()
        }
    }

    private func take(_ message: borrowing ZMQMessage) {
        guard message.count == 3, message.isFrame(0, equalTo: PeerNumber.answer) else { return settings.strange() }
        let number = unsafe message.withBytes(ofFrame: 1) { unsafe PeerNumber.read($0) }
        // The answer to a call that was given up, or a second one.
        guard let number, let call = calls.removeValue(forKey: number) else { return settings.strange() }
        unansweredBytes -= call.size
        call.reply(.success(message.copied(2)))
    }

    // MARK: The time

    private func arm(at deadline: MonotonicTime) {
        timer.arm(at: deadline, on: loop, action: { [unowned self] in giveUp() })
    }

    /// Gives up the calls whose time is over. They were sent in the order of their numbers, and all have the same time.
    private func giveUp() {
        var late: [Call] = []
        while oldest <= newest {
            guard let call = calls[oldest] else {
                oldest += 1
                continue
            }
            guard call.deadline <= loop.now else {
                arm(at: call.deadline)
                break
            }
            calls[oldest] = nil
            oldest += 1
            unansweredBytes -= call.size
            late.append(call)
        }
        for call in late { call.reply(.fault("node \(node) has not answered in time; repeat the request")) }
    }

    private func failAll(_ reason: String) {
        let waiting = exchange(&calls, with: [:]).sorted { $0.key < $1.key }
        unansweredBytes = 0
        oldest = newest + 1
        for (_, call) in waiting { call.reply(.fault(reason)) }
    }
}

/// The frames that all messages between nodes have.
enum PeerNumber {
    static let accept: StaticString = "cluster-accept/1"
    static let cancel: StaticString = "cluster-cancel/1"
    static let receipt: StaticString = "cluster-receipt/1"
    static let hint: StaticString = "cluster-hint/1"
    static let ask: StaticString = "cluster-ask/1"
    static let answer: StaticString = "cluster-answer/1"

    static func bytes(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    }

    static func read(_ bytes: UnsafeRawBufferPointer) -> UInt64? {
        guard bytes.count == 8 else { return nil }
        return unsafe UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
    }
}

extension Result where Failure == LedgerFault {
    fileprivate static func fault(_ reason: String) -> Self { .failure(LedgerFault(reason)) }
}
