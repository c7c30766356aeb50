import PushLoop
package import PushModel
package import PushPipeline
package import PushTransport

/// `POST /v1/messages`: hands messages to intake, one envelope as JSON or up to 10,000 as lines.
///
/// It is intake's second face: the same parser, the same groups of the ledger, the same acks and the same
/// back-pressure as over ZeroMQ. The answer is sent after the ledger has synced the message.
package struct PushMessages: RespondingEndpoint {
    package typealias Output = WrittenAnswer<AckKind>

    /// The maximum size of a body with lines.
    package static let maxLinesBytes = 32 * 1024 * 1024

    package static let operation = Operation(
        .post, at: "/v1/messages", id: "sendMessage", access: .role(.push), subject: "Messages",
        summary: "Accepts a message, or up to 10,000 as lines, and answers after it is on disk.",
        body: .raw(EnvelopeSchema.contents),
        answers: [
            .init(202, about: "The message is accepted: it is on disk and is carried out."),
            .init(
                200, about: "The message is a duplicate; or, for lines, the acks, one on each line, in order.",
                kinds: [AckKind.self, AckLinesKind.self]),
            .init(400, about: "The envelope is not JSON."),
            .init(403, about: "The key has no right for the app."),
            .init(404, about: "There is no such app."),
            .init(409, about: "The id was used for another message."),
            .init(413, about: "The payload is too large, or there are too many names in the audience."),
            .init(422, about: "The envelope is invalid; reason and detail say why."),
            .init(503, about: "There is no room now; the same request may be sent again after Retry-After."),
        ])

    private let intake: Intake

    /// Creates the endpoint. Its server must be on the loop of `intake`.
    package init(intake: Intake) {
        self.intake = intake
    }

    package func begin(
        _ input: NoInput, of request: HTTP1Request, for caller: Caller, responder: HTTP1Responder
    ) throws(Problem) {
        let sender = DirectSender(name: caller == .local ? nil : caller.name, apps: caller.apps)
        let bound = LoopBound(responder, on: intake.loop)
        let isLines = RequestInput.mediaType(request.headers) == RequestInput.linesType
        intake.assumeIsolated { intake in
            if isLines {
                intake.pushLines(request.body, from: sender) { Self.send($0, to: bound.wrapped) }
            } else {
                intake.push(request.body, from: sender) { Self.send($0, to: bound.wrapped) }
            }
        }
    }

    private static let ackHeaders = headers(of: AckKind.mediaType)
    private static let linesHeaders = headers(of: AckLinesKind.mediaType)

    private static func headers(of mediaType: String) -> HTTP1Headers {
        let fields: HTTP1Headers = ["Cache-Control": "no-store", "Content-Type": mediaType]
        return (try? fields.checkedForAnswers()) ?? fields
    }

    private static func send(_ answer: DirectAnswer, to responder: HTTP1Responder) {
        var headers = answer.outcome == .lines ? linesHeaders : ackHeaders
        if case .busy(let wait) = answer.outcome {
            headers.add("Retry-After", value: "\(max(1, (wait + 999) / 1000))")
        }
        // It throws if the client has gone. The message is carried out all the same.
        try? responder.respond(status: answer.outcome.status, headers: headers, body: answer.text)
    }
}

extension DirectAnswer.Outcome {
    var status: Int {
        switch self {
        case .accepted: 202
        case .duplicate, .lines: 200
        case .busy: 503
        case .rejected(let reason):
            switch reason {
            case .badJSON: 400
            case .forbidden: 403
            case .unknownApp, .unknownMessage: 404
            case .idConflict: 409
            case .payloadTooLarge, .tooMany: 413
            case .badFrame, .missingField, .badField, .badAudience, .badToken, .badPayload, .expired: 422
            }
        }
    }
}
