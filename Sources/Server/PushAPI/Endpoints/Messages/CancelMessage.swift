package import PushModel

/// `POST /v1/apps/{app}/messages/{id}/cancel`: what has not gone out does not go out. With the name of a family, this
/// holds for all its members.
package struct CancelMessage: Endpoint {
    package typealias Input = MessagePath

    package static let operation = Operation(
        .post, at: "/v1/apps/{app}/messages/{id}/cancel", id: "cancelMessage", access: .roles([.push, .operate]),
        subject: "Messages",
        summary: "Cancels a message: its deliveries that have not gone out are not sent.",
        problems: [.tooLate, .unknownMessage],
        records: [.operatorCancel])

    private let apps: AppCatalog
    private let cancel: @Sendable ([CancelRequest]) async -> [Cancellation]

    /// Creates the endpoint.
    ///
    /// - Parameter cancel: cancels messages with one id in one transaction, and returns when that is on disk.
    package init(apps: AppCatalog, cancel: @escaping @Sendable ([CancelRequest]) async -> [Cancellation]) {
        self.apps = apps
        self.cancel = cancel
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<CancelledAnswer> {
        let family = try apps.family(input.app, for: caller)
        let (app, id) = (input.app, input.id)
        let client = caller == .local ? nil : caller.name
        let members = family?.members ?? [app]
        let results = await cancel(members.map { CancelRequest(id, of: $0, by: client) })
        switch Cancellation(of: results) {
        case .cancelled(let counts):
            return Reply(
                CancelledAnswer(id: id.text, counts: counts, members: family.map { Array(zip($0.members, results)) }),
                changes: zip(members, results).compactMap { app, result in
                    guard case .cancelled(let counts) = result else { return nil }
                    return OperatorChange(
                        .operatorCancel, app: app, of: "message \(id.text)",
                        after: "\(counts.sent) sent, \(counts.cancelled) cancelled")
                })
        case .tooLate:
            throw Problem(
                .tooLate,
                detail: "the message \"\(id)\" of \(app) is complete: all its deliveries have gone out or ended")
        case .unknown:
            throw Problem(
                .unknownMessage,
                detail: "no message \"\(id)\" of \(app) is remembered: it was never accepted, or it is older than "
                    + "dedupe.window")
        case .failed(let reason):
            var problem = Problem(.unavailable, detail: "the cancellation cannot be stored: \(reason); try again")
            problem.retryAfterMilliseconds = 1000
            throw problem
        }
    }
}
