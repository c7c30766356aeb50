package import PushModel

/// `GET /healthz`: whether the process is alive.
package struct GetHealth: ImmediateEndpoint {
    package static let operation = Operation(
        .get, at: "/healthz", id: "getHealth", access: .open, subject: "Health",
        summary: "Answers ok as long as the process runs.")

    package init() {}

    package func answerNow(_ input: NoInput, for caller: Caller) -> Reply<WrittenAnswer<PlainTextKind>> {
        Reply(WrittenAnswer(Array("ok\n".utf8)))
    }
}
