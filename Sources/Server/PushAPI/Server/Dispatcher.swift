import PushLoop
import PushModel
import PushTransport

/// Finds the endpoint of each request of a server, asks whether the caller may, and sends the answer.
struct Dispatcher: Sendable {
    private let table: EndpointTable
    private let access: any RequestAccess
    private let loop: EventLoop
    private let metrics: HTTPMetrics?
    private let refusals: RefusalCounts?
    private let journal: OperatorJournal?
    /// The handle of each endpoint, and that of requests without one.
    private let routes: [HTTPMetrics.Route]
    private let unknown: HTTPMetrics.Route?
    /// The name of each endpoint, for the report of a trap. Paths and queries contain tokens, so that it has neither.
    private let notes: [WorkNote]

    init(
        table: EndpointTable, access: any RequestAccess, loop: EventLoop, metrics: HTTPMetrics?,
        refusals: RefusalCounts? = nil,
        journal: OperatorJournal? = nil
    ) {
        self.table = table
        self.access = access
        self.loop = loop
        self.metrics = metrics
        self.refusals = refusals
        self.journal = journal
        routes = metrics.map { metrics in table.endpoints.map { metrics.route($0.label) } } ?? []
        unknown = metrics?.route(HTTPMetrics.unknownRoute)
        notes = table.endpoints.map { WorkNote("\($0.operation.method.rawValue) \($0.operation.path)") }
    }

    func handle(_ request: HTTP1Request, with responder: HTTP1Responder) {
        do throws(Problem) {
            let match = try table.match(request)
            notes[match.index].setAsRequest()
            count(request, of: metrics == nil ? nil : routes[match.index], when: responder)
            let caller = try access.admit(request, to: match.endpoint.operation)
            if let key = caller.keyID { mark(responder.connection, with: key) }
            try checkRecord(of: match.endpoint.operation, by: caller)
            switch match.endpoint.handling {
            case .immediate(let answer):
                send(answer(request, match.parameters, caller), to: responder)
            case .responding(let begin):
                try begin(request, match.parameters, caller, responder)
            case .task(let answer):
                let bound = LoopBound(responder, on: loop)
                let client = LongRequestQuota.Client(caller, at: request.peer)
                let task = Task { [self] in
                    let place: SearchQueue.Place?
                    do {
                        place = try await match.endpoint.searches?.enter(for: client)
                    } catch {
                        return loop.executeUnlessStopped { send(APIAnswer(failedBy: error), to: bound.wrapped) }
                    }
                    let answer = await answer(request, match.parameters, caller)
                    await journal?.record(answer.changes, by: caller, of: request)
                    loop.executeUnlessStopped {
                        send(answer, to: bound.wrapped)
                        // To find the next search takes a while if many wait: not on this loop.
                        if let place { Task { place.leave() } }
                    }
                }
                if match.endpoint.operation.isReading { responder.onClose = { task.cancel() } }
            }
        } catch {
            if error.code == .notFound || error.code == .methodNotAllowed {
                count(request, of: unknown, when: responder)
            }
            send(APIAnswer(error), to: responder)
        }
    }

    /// Refuses what an operator would change while it could not be recorded.
    private func checkRecord(of operation: Operation, by caller: Caller) throws(Problem) {
        guard !operation.records.isEmpty, let obstacle = journal?.obstacle(to: caller) else { return }
        throw Problem(.unavailable, detail: "nothing was changed, because it could not be recorded: \(obstacle)")
    }

    private func send(_ answer: APIAnswer, to responder: HTTP1Responder) {
        if let reason = answer.reason { refusals?.count(reason) }
        answer.send(to: responder)
    }

    /// Counts a request that HTTP refuses before there is an endpoint, and returns its answer.
    func refuse(_ refusal: HTTP1Refusal, method: HTTP1Method?) -> HTTP1Response {
        if let metrics, let unknown {
            metrics.count(unknown, method: method?.rawValue ?? "", status: refusal.status)
        }
        let answer = APIAnswer(Problem(refusal))
        return HTTP1Response(status: answer.status, headers: answer.allHeaders, body: answer.body)
    }

    private func mark(_ connection: HTTP1Connection, with key: APIKeyID) {
        if let mark = connection.context as? KeyedAccess.Mark, mark.key == key { return }
        connection.context = KeyedAccess.Mark(key)
    }

    /// Counts the request when its answer begins.
    private func count(_ request: HTTP1Request, of route: HTTPMetrics.Route?, when responder: HTTP1Responder) {
        guard let metrics, let route else { return }
        let (start, method) = (loop.now, request.method.rawValue)
        responder.onAnswer = { [loop] status in
            metrics.record(route, method: method, status: status, time: loop.now - start)
        }
    }
}

extension APIAnswer {
    /// Sends the answer. On the loop of the responder.
    func send(to responder: HTTP1Responder) {
        // It throws if the client has gone.
        try? responder.respond(status: status, headers: allHeaders, body: body)
    }

    /// The header fields with those of every answer.
    fileprivate var allHeaders: HTTP1Headers {
        var headers = headers
        headers.add("Content-Type", value: type)
        if headers["Cache-Control"] == nil { headers.add("Cache-Control", value: "no-store") }
        return headers
    }
}
