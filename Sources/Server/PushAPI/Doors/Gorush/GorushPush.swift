package import PushConfiguration
import PushLoop
package import PushModel
package import PushPipeline
import PushStore
package import PushTime
package import PushTransport
import PushWire

/// `POST` to the path of `doors.gorush`: the requests that gorush takes.
///
/// Each notification becomes a message with its tokens as the audience, and takes the way of all messages. The answer is
/// sent after they are on disk.
package struct GorushPush: RespondingEndpoint {
    package typealias Output = GorushAnswer

    package static let operation = Operation(
        .post, at: Configuration.Doors.Gorush.defaultPath, id: "pushAsGorush", access: .role(.push), subject: "Doors",
        summary: "Takes the requests of gorush.",
        body: .raw([
            .init(Operation.Body.jsonType, schema: GorushSchema.request, named: "GorushRequest", example: example),
            .init(Operation.Body.anyType, schema: GorushSchema.request, named: "GorushRequest", example: example),
        ]),
        answers: [
            .init(200, about: "The pushes are on disk; logs names the tokens that get none."),
            .init(400, about: "The request is invalid; nothing is sent.", kinds: [GorushFaultKind.self]),
            .init(403, about: "The key has no right for an app.", kinds: [GorushFaultKind.self]),
            .init(409, about: "The Idempotency-Key was used for another request.", kinds: [GorushFaultKind.self]),
            .init(413, about: "A payload is too large.", kinds: [GorushFaultKind.self]),
            .init(503, about: "There is no room now; send the same request again.", kinds: [GorushFaultKind.self]),
        ], takesKeyField: true)

    private static var example: JSONValue {
        ["notifications": [["tokens": ["a1b2c3d4"], "platform": 1, "title": "Order 12", "message": "It is paid"]]]
    }

    private let intake: Intake
    private let door: GorushApps
    private let history: MessageHistory
    private let stretches: GorushStretches
    /// Reads what an earlier process has accepted within the window. If it fails, notifications are looked up.
    private let recall: Task<Void, Never>
    private let outcomes: GorushOutcomes?
    private let counts: GorushCounts
    private let wallClock: @Sendable () -> WallTime

    /// Creates the endpoint. Its server must be on the loop of `intake`.
    ///
    /// - Parameter wallClock: The time that all nodes of a cluster have.
    package init(
        _ settings: Configuration.Doors.Gorush, intake: Intake, events: any EventLog, waiting: CommittedEvents,
        identities: Identities, apps: AppCatalog, counts: GorushCounts,
        wallClock: @escaping @Sendable () -> WallTime
    ) {
        self.intake = intake
        door = GorushApps(ios: settings.ios, android: settings.android, catalog: apps)
        history = MessageHistory(log: events)
        self.wallClock = wallClock
        let now = wallClock()
        let stretches = GorushStretches(window: settings.dedupe, at: now)
        self.stretches = stretches
        recall = Task {
            guard events.partCount == 1,
                let accepted = try? await EventReader(log: events).accepted(
                    since: now - settings.dedupe, prefix: GorushIdentity.prefix, limit: GorushStretches.usualLimit)
            else { return }
            stretches.recall(accepted)
        }
        outcomes =
            settings.isSync
            ? GorushOutcomes(log: events, waiting: waiting, identities: identities, wait: settings.wait) : nil
        self.counts = counts
    }

    package func begin(
        _ input: NoInput, of request: HTTP1Request, for caller: Caller, responder: HTTP1Responder
    ) throws(Problem) {
        let read: GorushRequest
        do throws(GorushFault) {
            guard !request.headers.isRepeated("Idempotency-Key") else {
                throw GorushFault("Idempotency-Key is given twice")
            }
            // Two clients that choose the same key do not mean the same request.
            let key = request.headers["Idempotency-Key"].flatMap { $0.isEmpty ? nil : "\(caller.name)\0\($0)" }
            read = try GorushRequest(request.body, door: door, key: key)
        } catch {
            return error.answer.send(to: responder)
        }
        let sender = DirectSender(name: caller == .local ? nil : caller.name, apps: caller.apps)
        let client = LongRequestQuota.Client(caller, at: request.peer)
        let bound = LoopBound(responder, on: intake.loop)
        guard !read.pushes.isEmpty else {
            return answer(read, with: read.log, to: bound)
        }
        let now = wallClock()
        let times = read.pushes.map { push in
            if case .content(let hash) = push.identity { stretches.begin(hash, at: now) } else { now }
        }
        Task { [self] in
            do {
                let ids = try await ids(of: read, at: times)
                onLoop { push(read, ids: ids, from: sender, for: client, to: bound) }
            } catch {
                onLoop {
                    end(read)
                    GorushFault("the events cannot be read now: \(error)", status: 503).answer.send(to: bound.wrapped)
                }
            }
        }
    }

    private func onLoop(_ work: @escaping @Sendable () -> Void) { intake.loop.executeUnlessStopped(work) }

    private func ids(of read: GorushRequest, at times: [WallTime]) async throws -> [MessageID] {
        await recall.value
        let isAlone = history.log.partCount == 1
        let choices = zip(read.pushes, times).map { push, time -> GorushStretches.Choice in
            switch push.identity {
            case .named(let id): .one(id)
            case .content(let hash): stretches.choice(hash, at: time, isAlone: isAlone)
            }
        }
        let questions = zip(read.pushes, choices).compactMap { push, choice in
            choice.question.map { (app: push.app, id: $0) }
        }
        let accepted = try await history.accepted(questions, since: stretches.start(of: times.min() ?? .distantPast))
        return zip(choices, times).map { stretches.id($0, at: $1, accepted: accepted) }
    }

    private func push(
        _ read: GorushRequest, ids: [MessageID], from sender: DirectSender, for client: LongRequestQuota.Client,
        to bound: LoopBound<HTTP1Responder>
    ) {
        var lines: [UInt8] = []
        for (push, id) in zip(read.pushes, ids) {
            lines += Array("{\"id\":".utf8)
            JSONText.appendQuoted(id.text, to: &lines)
            lines.append(UInt8(ascii: ","))
            lines += push.envelope
            lines.append(UInt8(ascii: "\n"))
        }
        intake.assumeIsolated { intake in
            intake.pushTogether(lines, from: sender) { settle(read, ids: ids, with: $0, for: client, to: bound) }
        }
    }

    private func end(_ read: GorushRequest, accepted: Set<MessageID> = [], ids: [MessageID] = []) {
        for (index, push) in read.pushes.enumerated() {
            guard case .content(let hash) = push.identity else { continue }
            let id = index < ids.count ? ids[index] : nil
            stretches.end(hash, acceptedAs: id.flatMap { accepted.contains($0) ? $0 : nil }, at: wallClock())
        }
    }

    /// Answers by what intake and the ledger have said. On the loop.
    private func settle(
        _ read: GorushRequest, ids: [MessageID], with said: DirectAnswer, for client: LongRequestQuota.Client,
        to bound: LoopBound<HTTP1Responder>
    ) {
        let acks = GorushAcks(said, to: read, ids: ids)
        end(read, accepted: acks.accepted, ids: ids)
        var log = read.log
        let sent: [GorushOutcomes.Sent]
        do throws(GorushFault) {
            sent = try acks.settle(in: &log)
        } catch {
            return error.answer.send(to: bound.wrapped)
        }
        guard let outcomes, !sent.isEmpty else { return answer(read, with: log, to: bound) }
        let task = Task { [self, log] in
            let log = await outcomes.completed(log, with: sent, for: client)
            onLoop { answer(read, with: log, to: bound) }
        }
        // The pushes are carried out even if nobody reads the answer.
        bound.wrapped.onClose = { task.cancel() }
    }

    private func answer(_ read: GorushRequest, with log: GorushLog, to bound: LoopBound<HTTP1Responder>) {
        counts.add(tokens: read.count, notifications: read.pushes.count)
        log.answer(counts: read.count).send(to: bound.wrapped)
    }
}
