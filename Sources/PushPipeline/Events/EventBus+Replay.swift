import PushLoop
import PushModel
import PushTime
import PushTransport
import PushWire

/// A requester at the replay socket. Behind a proxy, several requesters share one connection.
struct ReplayPeer: Hashable, Sendable {
    /// The routing id of the connection.
    let connection: [UInt8]
    let route: AnswerRoute

    /// Begins an answer.
    func address(_ outbox: inout ZMQOutbox) {
        outbox.add(connection)
        route.add(to: &outbox)
    }
}

/// A message that arrived at the replay socket, valid or not.
struct ReplayQuestion: Sendable {
    let peer: ReplayPeer
    let userID: String?
    private let isOfKnownKind: Bool
    /// The second frame after the route; nil unless there are exactly two.
    private let request: [UInt8]?

    init(_ message: borrowing ZMQMessage, frames count: Int) {
        let (route, start) = AnswerRoute.read(message, from: 1, before: [ReplayRequest.version])
        peer = ReplayPeer(connection: message.copied(0), route: route)
        userID = message.userID
        isOfKnownKind = start < message.count && message.isFrame(start, equalTo: ReplayRequest.version)
        request = count == start + 2 ? message.copied(start + 1) : nil
    }

    func read() throws(Rejection) -> ReplayRequest {
        guard let request else {
            throw Rejection(.badFrame, detail: "expected two frames: \(ReplayRequest.version) and JSON")
        }
        guard isOfKnownKind else {
            throw Rejection(.badFrame, detail: "unknown request kind; the first frame must be \(ReplayRequest.version)")
        }
        return try ReplayRequest.read(request)
    }
}

/// A replay in progress. Used on the loop of the bus only.
final class Replay {
    let peer: ReplayPeer
    let userID: String?
    let request: ReplayRequest
    /// Whether the key has lost the right to observe. No more events are sent to the requester.
    var isRevoked = false
    /// Resumed when the socket may accept more.
    var waiter: CheckedContinuation<Void, Never>?

    init(_ question: ReplayQuestion, request: ReplayRequest) {
        peer = question.peer
        userID = question.userID
        self.request = request
    }
}

extension EventBus {
    // MARK: Requests

    func take(_ question: ReplayQuestion) {
        counts.replayRequests += 1
        guard !settings.replaySecurity.isServer || settings.observers.include(question.userID) else {
            return refuse(question.peer, error: "forbidden")
        }
        do throws(Rejection) {
            let request = try question.read()
            begin(Replay(question, request: request))
        } catch {
            refuse(question.peer, error: error.reason.rawValue, detail: error.detail)
        }
    }

    private func begin(_ replay: Replay) {
        guard replays[replay.peer] == nil, replays.count < settings.replays.concurrent,
            replay.userID == nil
                || replays.values.count(where: { $0.userID == replay.userID }) < settings.replays.concurrentOfOneKey
        else {
            return refuse(
                replay.peer, error: "busy",
                retryAfter: settings.replays.retryAfter.wholeMilliseconds)
        }
        replays[replay.peer] = replay
        Task {
            let isAnswered = await answer(replay)
            if replay.isRevoked {
                refuse(replay.peer, error: "forbidden")
            } else if !isAnswered {
                counts.replaysAbandoned += 1
            }
            replays[replay.peer] = nil
            replayEnded()
        }
    }

    /// Sends an error answer. It is lost if the requester's queue is full.
    private func refuse(
        _ peer: ReplayPeer, error: String, detail: String? = nil, retryAfter: Int64? = nil,
        next: UInt64? = nil
    ) {
        counts.replaysRefused += 1
        _ = router?.send { outbox in
            peer.address(&outbox)
            outbox.add("replay-error/1")
            outbox.add(ReplayAnswer.error(error, detail: detail, retryAfter: retryAfter, next: next))
        }
    }

    // MARK: Answers

    /// Reads the log page by page and sends the matching events. Returns false if the requester does not accept them.
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
                    replay.peer, error: "unavailable", detail: "\(error)",
                    retryAfter: limits.retryAfter.wholeMilliseconds)
                return true
            }
            if isStopped || replay.isRevoked { return false }
            // Events that were removed while a page was read are missing like those that had been removed before.
            // Events that are removed after they were read do not count.
            if oldest == nil || page.oldest > at + 1 { oldest = page.oldest }
            let before = at
            do throws(DamagedSegment) {
                for segment in page.segments where selection.left > 0 {
                    at = try topics.select(segment, since: at, prefixes, into: &selection)
                }
            } catch {
                for packed in selection.take() where await !send(packed, to: replay) { return false }
                let last = page.segments.first { $0.first == error.first }?.last ?? page.newest
                refuse(replay.peer, error: "damaged", detail: "\(error)", next: last)
                return true
            }
            for packed in selection.take() where await !send(packed, to: replay) { return false }
            lookedAt += Int(clamping: at - before)
            if at >= page.newest || at == before {
                // The replay has reached the newest event, or `since` was beyond it.
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

    /// Sends a message. If the requester does not keep up, waits for at most `patience`.
    private func send(to replay: Replay, _ frames: (inout ZMQOutbox) -> Void) async -> Bool {
        var deadline: MonotonicTime?
        while let router, !isStopped, !replay.isRevoked {
            let result = router.send { outbox in
                replay.peer.address(&outbox)
                frames(&outbox)
            }
            guard result == .wouldBlock else { return result == .sent }
            if let deadline, loop.now >= deadline { return false }
            deadline = deadline ?? loop.now + settings.replays.patience
            // The socket becomes writable every few milliseconds, even without room for this requester.
            await withCheckedContinuation { replay.waiter = $0 }
        }
        return false
    }

    func resumeReplays() {
        for replay in replays.values { replay.waiter.take()?.resume() }
    }
}
