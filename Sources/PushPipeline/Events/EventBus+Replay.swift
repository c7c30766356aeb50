import PushLoop
import PushModel
import PushTime
import PushTransport
import PushWire

/// What came in at the replay socket, whatever it is.
struct ReplayQuestion: Sendable {
    let peer: [UInt8]
    /// The requester put an empty frame first, as a REQ does, and is answered the same way.
    let hasDelimiter: Bool
    let userID: String?
    /// What follows, if it is two frames.
    private let frames: (version: [UInt8], request: [UInt8])?

    init(_ message: borrowing ZMQMessage, frames count: Int) {
        peer = message.copied(0)
        hasDelimiter = message.count > 1 && message.byteCount(ofFrame: 1) == 0
        userID = message.userID
        let start = hasDelimiter ? 2 : 1
        frames = count == start + 2 ? (message.copied(start), message.copied(start + 1)) : nil
    }

    func request() throws(Rejection) -> ReplayRequest {
        guard let frames else {
            throw Rejection(.badFrame, "two frames are wanted, \(ReplayRequest.version) and JSON")
        }
        guard frames.version.elementsEqual("\(ReplayRequest.version)".utf8) else {
            throw Rejection(.badFrame, "the first frame is not \(ReplayRequest.version), which is all that is known")
        }
        return try ReplayRequest.read(frames.request)
    }
}

/// A request that is being answered. On the bus's loop.
final class Replay {
    let peer: [UInt8]
    let hasDelimiter: Bool
    let userID: String?
    let request: ReplayRequest
    /// The right to observe was taken from its key: no more events go out to it.
    var isRevoked = false
    /// Waits until the socket may take more.
    var waiter: CheckedContinuation<Void, Never>?

    init(_ question: ReplayQuestion, request: ReplayRequest) {
        peer = question.peer
        hasDelimiter = question.hasDelimiter
        userID = question.userID
        self.request = request
    }
}

extension EventBus {
    // MARK: Requests

    func take(_ question: ReplayQuestion) {
        counts.replayRequests += 1
        guard !settings.replaySecurity.isServer || settings.observers.include(question.userID) else {
            return refuse(question.peer, question.hasDelimiter, error: "forbidden")
        }
        do throws(Rejection) {
            let request = try question.request()
            begin(Replay(question, request: request))
        } catch {
            refuse(question.peer, question.hasDelimiter, error: error.reason.rawValue, detail: error.detail)
        }
    }

    private func begin(_ replay: Replay) {
        guard replays[replay.peer] == nil, replays.count < settings.replays.concurrent,
            replay.userID == nil
                || replays.values.count(where: { $0.userID == replay.userID }) < settings.replays.concurrentOfOneKey
        else {
            return refuse(
                replay.peer, replay.hasDelimiter, error: "busy",
                retryAfter: settings.replays.retryAfter.wholeMilliseconds)
        }
        replays[replay.peer] = replay
        Task {
            let isAnswered = await answer(replay)
            if replay.isRevoked {
                refuse(replay.peer, replay.hasDelimiter, error: "forbidden")
            } else if !isAnswered {
                counts.replaysAbandoned += 1
            }
            replays[replay.peer] = nil
            replayEnded()
        }
    }

    /// Says why. Whoever does not read such answers loses them.
    private func refuse(
        _ peer: [UInt8], _ hasDelimiter: Bool, error: String, detail: String? = nil, retryAfter: Int64? = nil,
        next: UInt64? = nil
    ) {
        counts.replaysRefused += 1
        _ = router?.send { outbox in
            outbox.add(peer)
            if hasDelimiter { outbox.addEmpty() }
            outbox.add("replay-error/1")
            outbox.add(ReplayAnswer.error(error, detail: detail, retryAfter: retryAfter, next: next))
        }
    }

    // MARK: Answers

    /// Reads page after page and sends what is asked for of it. False if the requester does not take it.
    private func answer(_ replay: Replay) async -> Bool {
        let limits = settings.replays
        var selection = ReplaySelection(
            prefix: Array(replay.request.prefix.utf8), limit: min(replay.request.limit, limits.limit))
        var at = replay.request.since
        var lookedAt = 0
        var oldest: UInt64?
        while true {
            let page: LogPage
            do {
                page = try await log.read(since: at, limit: limits.page)
            } catch {
                refuse(
                    replay.peer, replay.hasDelimiter, error: "unavailable", detail: "\(error)",
                    retryAfter: limits.retryAfter.wholeMilliseconds)
                return true
            }
            if isStopped || replay.isRevoked { return false }
            // What was removed while it was being read is gone like what was gone before; what was removed after it had
            // been read is not.
            if oldest == nil || page.oldest > at + 1 { oldest = page.oldest }
            let before = at
            do throws(DamagedSegment) {
                for segment in page.segments where selection.left > 0 {
                    at = try topics.select(segment, since: at, prefixes, into: &selection)
                }
            } catch {
                for packed in selection.take() where await !send(packed, to: replay) { return false }
                let last = page.segments.first { $0.first == error.first }?.last ?? page.newest
                refuse(replay.peer, replay.hasDelimiter, error: "damaged", detail: "\(error)", next: last)
                return true
            }
            for packed in selection.take() where await !send(packed, to: replay) { return false }
            lookedAt += Int(clamping: at - before)
            if at >= page.newest || at == before {
                // Looked at everything, or asked for what is yet to come.
                return await end(replay, next: at == before ? page.newest : at, oldest: oldest ?? page.oldest)
            }
            if selection.left == 0 || lookedAt >= limits.lookedAt {
                return await end(replay, next: at, oldest: oldest ?? page.oldest)
            }
        }
    }

    private func send(_ packed: ReplaySelection.Packed, to replay: Replay) async -> Bool {
        await send(to: replay) { outbox in
            outbox.add("event/1")
            outbox.add(packed.topic)
            outbox.add(packed.lines)
        }
    }

    private func end(_ replay: Replay, next: UInt64, oldest: UInt64) async -> Bool {
        let text = ReplayAnswer.end(next: next, oldest: oldest)
        return await send(to: replay) { outbox in
            outbox.add("replay-end/1")
            outbox.add(text)
        }
    }

    /// Sends, and waits for a requester that does not keep up as long as there is patience.
    private func send(to replay: Replay, _ frames: (inout ZMQOutbox) -> Void) async -> Bool {
        var deadline: MonotonicTime?
        while let router, !isStopped, !replay.isRevoked {
            let result = router.send { outbox in
                outbox.add(replay.peer)
                if replay.hasDelimiter { outbox.addEmpty() }
                frames(&outbox)
            }
            guard result == .wouldBlock else { return result == .sent }
            if let deadline, loop.now >= deadline { return false }
            deadline = deadline ?? loop.now + settings.replays.patience
            // The socket says so every few milliseconds, whether or not there is room for this one.
            await withCheckedContinuation { replay.waiter = $0 }
        }
        return false
    }

    func resumeReplays() {
        for replay in replays.values { replay.waiter.take()?.resume() }
    }
}
