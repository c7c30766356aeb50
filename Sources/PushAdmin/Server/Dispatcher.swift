import PushLoop
import PushModel
import PushTransport

/// Finds the endpoint of each request of a server, asks the door, and sends the answer.
struct Dispatcher: Sendable {
    private let table: EndpointTable
    private let door: any Door
    private let loop: EventLoop
    private let metrics: HTTPMetrics?
    /// The handle of each endpoint, and that of requests without one.
    private let routes: [HTTPMetrics.Route]
    private let unknown: HTTPMetrics.Route?

    init(table: EndpointTable, door: any Door, loop: EventLoop, metrics: HTTPMetrics?) {
        self.table = table
        self.door = door
        self.loop = loop
        self.metrics = metrics
        routes = metrics.map { metrics in table.endpoints.map { metrics.route($0.operation.path) } } ?? []
        unknown = metrics?.route(HTTPMetrics.unknownRoute)
    }

    func handle(_ request: HTTP1Request, with responder: HTTP1Responder) {
        do throws(Problem) {
            let match = try table.match(request)
            count(request, of: metrics == nil ? nil : routes[match.index], when: responder)
            let caller = try door.admit(request, to: match.endpoint.operation)
            if let key = caller.keyID { mark(responder.connection, with: key) }
            switch match.endpoint.handling {
            case .immediate(let answer):
                answer(request, match.parameters, caller).send(to: responder)
            case .responding(let begin):
                try begin(request, match.parameters, caller, responder)
            case .task(let answer):
                let responder = LoopBound(responder, on: loop)
                Task { [loop] in
                    let answer = await answer(request, match.parameters, caller)
                    loop.executeUnlessStopped { answer.send(to: responder.wrapped) }
                }
            }
        } catch {
            if error.code == .notFound || error.code == .methodNotAllowed {
                count(request, of: unknown, when: responder)
            }
            AdminAnswer(error).send(to: responder)
        }
    }

    private func mark(_ connection: HTTP1Connection, with key: APIKeyID) {
        if let mark = connection.context as? GuardedDoor.Mark, mark.key == key { return }
        connection.context = GuardedDoor.Mark(key)
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

extension AdminAnswer {
    /// Sends the answer. On the loop of the responder.
    func send(to responder: HTTP1Responder) {
        var headers = headers
        headers.add("Content-Type", value: type)
        if headers["Cache-Control"] == nil { headers.add("Cache-Control", value: "no-store") }
        // It throws if the client has gone.
        try? responder.respond(status: status, headers: headers, body: body)
    }
}
