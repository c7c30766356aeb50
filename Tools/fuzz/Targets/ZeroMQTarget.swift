import CZeroMQ

@testable import PushTransport

extension FuzzTarget {
    /// ZAP requests and monitor events: messages with any number and size of frames.
    static let zeroMQ = FuzzTarget(
        name: "zeromq",
        seeds: {
            func frames(_ all: [[UInt8]]) -> [UInt8] { all.flatMap { [UInt8($0.count)] + $0 } }
            let head = ["1.0", "1", "global", "127.0.0.1", "id"].map { Array($0.utf8) }
            let curve = head + [Array("CURVE".utf8), [UInt8](repeating: 7, count: 32)]
            return [
                frames(curve), frames(head + [Array("NULL".utf8)]), frames(Array(curve.dropLast())),
                frames(curve + [[1]]), frames([[UInt8](repeating: 0, count: 6)]), frames([]),
                frames([[0, 1, 2, 3, 4, 5]]), [UInt8](repeating: 0, count: 20),
            ]
        },
        run: { input in
            unsafe pipe.carry(&input)
        })

    // libFuzzer uses one thread.
    nonisolated(unsafe) private static let pipe = ZeroMQPipe()
}

/// A pair of sockets in one process, so that messages come from libzmq as in production.
@safe
private final class ZeroMQPipe {
    private let sender: UnsafeMutableRawPointer
    private let receiver: UnsafeMutableRawPointer
    private let inbox = ZMQInbox()

    init() {
        let context = unsafe zmq_ctx_new()
        guard let sender = unsafe zmq_socket(context, ZMQ_PAIR), let receiver = unsafe zmq_socket(context, ZMQ_PAIR),
            unsafe zmq_bind(receiver, "inproc://fuzz") == 0, unsafe zmq_connect(sender, "inproc://fuzz") == 0
        else { fatalError("cannot create sockets: \(zmq_errno())") }
        unsafe self.sender = sender
        unsafe self.receiver = receiver
    }

    func carry(_ input: inout FuzzInput) {
        var count = 0
        repeat {
            let frame = input.take(Int(input.byte()))
            unsafe monitorEvent(frame.withUnsafeBytes { unsafe ZMQMonitorEvent($0, endpoint: "inproc://fuzz") })
            count += 1
            let isLast = input.isAtEnd || count == 40
            let sent = unsafe zmq_send(sender, frame, frame.count, isLast ? 0 : ZMQ_SNDMORE)
            require(sent == frame.count, "cannot send: \(zmq_errno())")
            if isLast { break }
        } while true

        switch unsafe inbox.receive(from: receiver, waits: true) {
        case .message(let frames):
            require(frames == count, "\(frames) of \(count) frames were received")
            ask(inbox.message(frames: frames))
        case .oversized(let frames):
            require(frames == count && frames > ZMQInbox.maxFrames, "\(frames) frames are not oversized")
            ask(inbox.message(frames: frames))
        case .empty, .terminated, .failed:
            fatalError("the message was lost")
        }
        inbox.clear(frames: count)
        guard case .empty = unsafe inbox.receive(from: receiver) else {
            fatalError("a part of a message was left in the socket")
        }
    }

    private func ask(_ message: borrowing ZMQMessage) {
        do throws(ZAPRequest.Fault) {
            let request = try ZAPRequest(message)
            require(message.count >= 6, "a ZAP request with \(message.count) frames was accepted")
            if case .curve(let key) = request.mechanism {
                require(
                    unsafe message.copied(6) == key.withBytes { unsafe [UInt8]($0) },
                    "the key differs from the one that was sent")
            }
        } catch {
            require(!error.text.isEmpty, "a fault without a description")
        }
        _ = message.userID
        _ = message.peerAddress
    }

    private func monitorEvent(_ event: ZMQMonitorEvent?) {
        if let event { require(!"\(event)".isEmpty, "an event without a description") }
    }
}
