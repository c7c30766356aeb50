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
            if let part = ReplayProgress.unknown(request.since, in: log) {
                throw Rejection(.badField, detail: "there is no part \(part); the log has \(log.partCount)")
            }
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
    private func refuse(_ peer: ReplayPeer, error: String, detail: String? = nil, retryAfter: Int64? = nil) {
        refuse(peer, ReplayAnswer.error(error, detail: detail, retryAfter: retryAfter))
    }

    private func refuse(_ peer: ReplayPeer, _ text: [UInt8]) {
        counts.replaysRefused += 1
        _ = router?.send { outbox in
            peer.address(&outbox)
            outbox.add("replay-error/1")
            outbox.add(text)
        }
    }

    // MARK: Answers

    /// Reads the log page by page and sends the matching events. Returns false if the requester does not accept them.
    private func answer(_ replay: Replay) async -> Bool {
        var course = ReplayProgress(replay.request.since, in: log)
        if course.needsBounds {
            do {
                course.take(try await log.bounds())
            } catch {
                refuseUnavailable(replay, error)
                return true
            }
        }
        var selection = ReplaySelection(
            prefix: Array(replay.request.prefix.utf8), limit: min(replay.request.limit, settings.replays.limit))
        var lookedAt = 0
        while selection.left > 0, lookedAt < settings.replays.lookedAt, let next = course.begin(in: log) {
            switch await read(next.part, from: next.at, for: replay, &course, &selection, &lookedAt) {
            case .read: break
            case .refused: return true
            case .abandoned: return false
            }
        }
        let text = course.end
        return await send(to: replay) { outbox in
            outbox.add("replay-end/1")
            outbox.add(text)
        }
    }

    private enum PartEnd {
        /// The part was read to its end, or to a limit of the request.
        case read
        /// The requester got an error answer.
        case refused
        /// The requester does not accept the answer, or the replay must end.
        case abandoned
    }

    private func refuseUnavailable(_ replay: Replay, _ error: any Error) {
        refuse(
            replay.peer, error: "unavailable", detail: "\(error)",
            retryAfter: settings.replays.retryAfter.wholeMilliseconds)
    }

    /// Sends the matching events of one part.
    private func read(
        _ part: Int, from start: UInt64, for replay: Replay, _ course: inout ReplayProgress,
        _ selection: inout ReplaySelection, _ lookedAt: inout Int
    ) async -> PartEnd {
        let limits = settings.replays
        var at = start
        var oldest: UInt64?
        while true {
            let page: LogPage
            do {
                page = try await log.read(since: at, limit: limits.page).divided(after: at)
            } catch {
                refuseUnavailable(replay, error)
                return .refused
            }
            if isStopped || replay.isRevoked { return .abandoned }
            // Events that were removed while a page was read are missing like those that had been removed before.
            // Events that are removed after they were read do not count.
            let stored = oldest.map { page.oldest > at + 1 ? page.oldest : $0 } ?? page.oldest
            oldest = stored
            let before = at
            do throws(DamagedSegment) {
                for segment in page.segments where selection.left > 0 {
                    at = try topics.select(segment, since: at, prefixes, into: &selection)
                }
            } catch {
                for packed in selection.take() where await !send(packed, to: replay) { return .abandoned }
                let last = page.segments.first { $0.first == error.first }?.last ?? page.newest
                course.reached(last, oldest: stored, ofPart: part)
                refuse(replay.peer, course.damaged("\(error)"))
                return .refused
            }
            for packed in selection.take() where await !send(packed, to: replay) { return .abandoned }
            lookedAt += Int(clamping: at - before)
            // The replay has reached the newest event, or `since` was beyond it.
            let isAtEnd = at >= page.newest || at == before
            course.reached(at == before ? page.newest : at, oldest: stored, ofPart: part)
            if isAtEnd || selection.left == 0 || lookedAt >= limits.lookedAt { return .read }
        }
    }

    private func send(_ packed: ReplaySelection.Packed, to replay: Replay) async -> Bool {
        await send(to: replay) { outbox in
            outbox.add("event/1")
            outbox.add(packed.topic)
            outbox.add(packed.lines)
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
