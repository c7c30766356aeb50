import PushLoop
import PushTransport

/// Finds the endpoint of each request of a server, asks the door, and sends the answer.
struct Dispatcher: Sendable {
    let table: EndpointTable
    let door: any Door
    let loop: EventLoop

    func handle(_ request: HTTP1Request, with responder: HTTP1Responder) {
        do throws(Problem) {
            let match = try table.match(request)
            let caller = try door.admit(request, to: match.endpoint.operation)
            switch match.endpoint.handling {
            case .immediate(let answer):
                Self.send(answer(request, match.parameters, caller), to: responder)
            case .responding(let begin):
                try begin(request, match.parameters, caller, responder)
            case .task(let answer):
                let responder = LoopBound(responder, on: loop)
                Task { [loop] in
                    let answer = await answer(request, match.parameters, caller)
                    loop.executeUnlessStopped { Self.send(answer, to: responder.wrapped) }
                }
            }
        } catch {
            Self.send(AdminAnswer(error), to: responder)
        }
    }

    static func send(_ answer: AdminAnswer, to responder: HTTP1Responder) {
        var headers = answer.headers
        headers.add("Content-Type", value: answer.type)
        headers.add("Cache-Control", value: "no-store")
        // It throws if the client has gone.
        try? responder.respond(status: answer.status, headers: headers, body: answer.body)
    }
}
