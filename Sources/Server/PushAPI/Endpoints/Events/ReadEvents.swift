package import PushLoop
package import PushModel
import PushStore
import PushTime
package import PushTransport

/// `GET /v1/events`: the stored events, as the same lines that monitors receive.
///
/// With `Accept: text/event-stream`, it is a live stream, which begins after `Last-Event-ID` or `since`, or with the
/// next new event. Otherwise, the position for the next request and the range of stored events are in header fields, because the body contains
/// nothing but events.
package struct ReadEvents: RespondingEndpoint {
    package typealias Output = WrittenAnswer<EventLinesKind>

    package static let maxEvents = 10_000
    package static let maxWait: UInt64 = 10
    /// The maximum number of requests that wait for events at the same time. Each of them occupies a connection, and
    /// other requests need connections, too.
    package static let maxWaiting = 16

    package struct Input: EndpointInput {
        let since: LogPosition?
        let sinceAt: WallTime?
        let untilAt: WallTime?
        let last: Int?
        let prefix: String
        let limit: Int?
        let wait: UInt64

        package init(_ read: inout InputReader) {
            since = read.query(
                "since", as: .place,
                about: "Only events with a greater number; 0 for all. In a cluster, numbers of parts, as in 3:17,5:90.")
            sinceAt = read.query("since_at", as: .time, about: "Only events at this time or later.")
            untilAt = read.query("until_at", as: .time, about: "Only events at this time or earlier.")
            last = read.query(
                "last", as: .integer(0...maxEvents),
                about: "Only as many of the newest events; not with since, since_at, until_at, limit or wait.")
            prefix =
                read.query(
                    "prefix", as: .text(1...128), about: "Only topics (family/app/kind) that begin with this text.")
                ?? ""
            limit = read.query(
                "limit", as: .integer(1...maxEvents), about: "The maximum number of events; 1000 by default.")
            wait =
                read.query(
                    "wait", as: .integer(0...3600), about: "The time to wait for an event if there is none, in seconds."
                )
                ?? 0
            let isMixed = since != nil || sinceAt != nil || untilAt != nil || wait > 0 || limit != nil
            read.require(
                last == nil || !isMixed, atQuery: "last",
                detail: "last cannot be combined with since, since_at, until_at, limit or wait")
        }
    }

    package static let operation = Operation(
        .get, at: "/v1/events", id: "readEvents", access: .role(.observe), subject: "Events",
        summary: "Returns stored events, one JSON object on each line, with their numbers of the event log.",
        answers: [
            .init(
                200,
                about: "The events; with Accept: text/event-stream, a live stream that begins after Last-Event-ID or "
                    + "since, or with the next event.",
                kinds: [EventLinesKind.self, EventStreamKind.self],
                headers: [
                    EventPage.nextHeader: "The since of the next request.",
                    EventPage.oldestHeader: "The number of the oldest stored event; in a cluster, of each part.",
                    EventPage.newestHeader: "The number of the newest stored event; in a cluster, of each part.",
                    EventPage.moreHeader: "Whether there are more events.",
                    EventPage.damagedHeader: "The numbers of events that cannot be read; absent if there are none.",
                ])
        ], problems: [.tooManyRequests])

    private let loop: EventLoop
    private let reader: EventReader
    private let kept: (any KeptEvents)?
    private let waiting: CommittedEvents
    private let maxWait: UInt64
    private let waiters = Locked(LongRequestQuota(limit: ReadEvents.maxWaiting))
    private let streams: EventStreams
    private let searches: SearchQueue

    /// Creates the endpoint. Its server must be on `loop`.
    ///
    /// - Parameter maxWait: the maximum wait for events, in seconds. Longer waits end then.
    package init(
        on loop: EventLoop, events: any EventLog, kept: (any KeptEvents)? = nil, waiting: CommittedEvents,
        streams: EventStreams, searches: SearchQueue,
        maxWait: UInt64 = ReadEvents.maxWait
    ) {
        self.loop = loop
        self.streams = streams
        self.searches = searches
        reader = EventReader(log: events)
        self.kept = kept
        self.waiting = waiting
        self.maxWait = maxWait
    }

    package func begin(
        _ input: Input, of request: HTTP1Request, for caller: Caller, responder: HTTP1Responder
    ) throws(Problem) {
        try reader.log.check(input.since, in: "since")
        if request.headers.all("Accept").contains(where: { $0.contains(Self.streamType) }) {
            return try stream(input, of: request, for: caller, responder: responder)
        }
        let bound = LoopBound(responder, on: loop)
        let client = LongRequestQuota.Client(caller, at: request.peer)
        let task = Task { [loop] in
            let place: SearchQueue.Place
            do {
                place = try await searches.enter(for: client)
            } catch {
                return loop.executeUnlessStopped { APIAnswer(failedBy: error).send(to: bound.wrapped) }
            }
            let answer: APIAnswer
            do {
                answer = try APIAnswer(try await self.answer(input, for: caller, at: client, in: place))
            } catch {
                answer = APIAnswer(failedBy: error)
            }
            loop.executeUnlessStopped {
                answer.send(to: bound.wrapped)
                Task { place.leave() }
            }
        }
        responder.onClose = { task.cancel() }
    }

    private static let streamType = EventStreamKind.mediaType

    private func stream(
        _ input: Input, of request: HTTP1Request, for caller: Caller, responder: HTTP1Responder
    ) throws(Problem) {
        guard input.last == nil, input.sinceAt == nil, input.untilAt == nil, input.limit == nil, input.wait == 0 else {
            throw .invalid(
                InputFault(
                    .badValue, at: .parameter("since"), detail: "a live stream takes only since and prefix"))
        }
        var since = input.since
        if let text = request.headers["Last-Event-ID"] {
            guard let place = LogPosition(text) else {
                throw .invalid(
                    InputFault(
                        .badValue, at: .parameter("Last-Event-ID"), detail: "the number of an event is expected"))
            }
            try reader.log.check(place, in: "Last-Event-ID")
            since = place
        }
        let headers: HTTP1Headers = [
            "Content-Type": Self.streamType, "Cache-Control": "no-store", "X-Accel-Buffering": "no",
        ]
        if request.method == .head {
            // A stream without a body would never end, and occupy one of the streams and its connection.
            // They throw if the client has gone.
            try? responder.start(status: 200, headers: headers)
            try? responder.finish()
            return
        }
        let client = LongRequestQuota.Client(caller, at: request.peer)
        let stream = EventStream(
            reader: reader.limited(to: caller.apps), waiting: waiting, prefix: input.prefix, searches: searches,
            client: client)
        let task = Locked<Task<Void, Never>?>(nil)
        let writer = StreamWriter(responder, on: loop) { task.withLock { $0?.cancel() } }
        let begun = try streams.begin(for: client) { [since] in
            await stream.run(since: since, to: writer, headers: headers)
        }
        task.withLock { $0 = begun }
    }

    private func answer(
        _ input: Input, for caller: Caller, at client: LongRequestQuota.Client, in place: SearchQueue.Place
    ) async throws -> Reply<Output> {
        let reader = reader.limited(to: caller.apps)
        if let found = try await findKept(input, for: caller) { return reply(found) }
        if let last = input.last { return reply(try await reader.last(last, prefix: input.prefix)) }
        let span = EventReader.Span(since: input.sinceAt ?? .distantPast, until: input.untilAt ?? .distantFuture)
        var start = input.since ?? LogPosition()
        if let sinceAt = input.sinceAt { start.raise(to: try await reader.position(before: sinceAt)) }
        let limit = input.limit ?? 1000
        var found = try await reader.forward(since: start, prefix: input.prefix, limit: limit, span: span)
        guard input.wait > 0, found.isEmpty else { return reply(found) }
        // What it reads from now on is new, and little.
        place.leave()
        try waiters.withLock { (quota) throws(Problem) in
            do throws(LongRequestQuota.Refusal) {
                try quota.take(client)
            } catch {
                throw error.problem("requests are waiting for events", of: quota)
            }
        }
        defer { waiters.withLock { $0.release(client) } }
        let deadline = MonotonicTime.current() + .seconds(Int64(min(input.wait, maxWait)))
        while found.isEmpty {
            try Task.checkCancellation()
            let left = deadline - MonotonicTime.current()
            guard left > .zero else { break }
            var place = found.next
            place.raise(to: found.newest)
            // The parts of other nodes are looked at now and then.
            await waiting.waitForEvents(
                after: place, for: reader.log.partCount == 1 ? left : min(left, EventStream.poll))
            found = try await reader.forward(since: found.next, prefix: input.prefix, limit: limit, span: span)
        }
        return reply(found)
    }

    /// Returns events of operators that are kept for longer than the log; nil if there are none for this request. What is
    /// not among them yet is in the log, and found by the next request.
    private func findKept(_ input: Input, for caller: Caller) async throws -> EventReader.Found? {
        guard let kept, input.prefix.hasPrefix("operator/") else { return nil }
        let page = try await kept.page(
            prefix: input.prefix, apps: caller.apps, since: input.since?[0] ?? 0,
            span: EventReader.Span(since: input.sinceAt ?? .distantPast, until: input.untilAt ?? .distantFuture),
            limit: input.last ?? input.limit ?? 1000, ofLast: input.last != nil)
        guard !page.lines.isEmpty || page.hasMore else { return nil }
        var found = try await reader.last(0, prefix: input.prefix)
        (found.lines, found.next, found.hasMore) = (page.lines, LogPosition(after: page.last), page.hasMore)
        return found
    }

    private func reply(_ found: EventReader.Found) -> Reply<Output> {
        var body: [UInt8] = []
        body.reserveCapacity(found.bytes + found.lines.count)
        for line in found.lines {
            body += line
            body.append(UInt8(ascii: "\n"))
        }
        var headers: HTTP1Headers = [
            EventPage.nextHeader: "\(found.next)", EventPage.oldestHeader: "\(found.oldest)",
            EventPage.newestHeader: "\(found.newest)", EventPage.moreHeader: "\(found.hasMore)",
        ]
        if !found.damaged.isEmpty {
            // The numbers of the first ones are enough to see that something is wrong, and where.
            let numbers = found.damaged.prefix(100).map { "\(LogPosition(after: $0))" }.joined(separator: ",")
            headers.add(EventPage.damagedHeader, value: numbers)
        }
        return Reply(WrittenAnswer(body), headers: headers)
    }
}

extension EventReader.Found {
    fileprivate var isEmpty: Bool { lines.isEmpty && !hasMore && damaged.isEmpty }
}
