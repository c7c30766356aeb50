package import PushModel
import PushText

/// `/v1/apps/{app}/messages/{id}/cancel`: what has not gone out does not go out.
package enum CancelRoutes {
    /// The answer to a request that cancelled a message, now or before.
    package struct Cancelled: Codable, Sendable, Equatable {
        package let id: String
        package let status: String
        /// The deliveries that had gone out.
        package let sent: UInt64
        /// The deliveries that were not sent.
        package let cancelled: UInt64

        package init(id: String, counts: CancelCounts) {
            self.id = id
            status = "cancelled"
            (sent, cancelled) = (counts.sent, counts.cancelled)
        }

        package enum CodingKeys: String, CodingKey {
            case status, sent, cancelled
            case id = "message_id"
        }
    }

    /// Returns the routes.
    ///
    /// - Parameter cancel: cancels a message and returns when that is on disk.
    package static func all(cancel: @escaping @Sendable (CancelRequest) async -> Cancellation) -> [AdminRoute] {
        [
            AdminRoute(.post, at: "/v1/apps/{app}/messages/{id}/cancel") { request in
                guard let app = AppID(request.parameter("app")) else {
                    throw AdminFault.unknownApp(PlainText.line(request.parameter("app"), limit: 80))
                }
                guard let id = MessageID(request.parameter("id")) else {
                    throw AdminFault.badRequest("a message id has 1 to 128 bytes and no control characters")
                }
                return try answer(await cancel(CancelRequest(id, of: app)), id: id, app: app)
            }
        ]
    }

    package static func answer(_ cancellation: Cancellation, id: MessageID, app: AppID) throws(AdminFault) -> Cancelled
    {
        switch cancellation {
        case .cancelled(let counts): return Cancelled(id: id.text, counts: counts)
        case .tooLate:
            throw AdminFault(
                409, code: "too_late",
                message: "the message \"\(id)\" of \(app) is complete: all its deliveries have gone out or ended")
        case .unknown:
            throw AdminFault(
                404, code: "unknown_message",
                message: "no message \"\(id)\" of \(app) is remembered: it was never accepted, or it is older than "
                    + "dedupe.window")
        case .failed(let reason):
            throw AdminFault(503, code: "busy", message: "the cancellation cannot be stored: \(reason); try again")
        }
    }
}
