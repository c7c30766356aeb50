/// The answer to a request that is carried out, as gorush has it. ``GorushLog`` writes it.
package struct GorushAnswer: JSONAnswer, Equatable {
    package let success: String
    /// The number of tokens.
    package let counts: Int
    package let logs: [Entry]

    package static var about: [String: String] {
        [
            "success": "Always ok: the pushes are on disk.", "counts": "The number of tokens in the request.",
            "logs": "What is to be said about single tokens, and about keys without effect.",
        ]
    }

    package struct Entry: Codable, Equatable, Sendable {
        package enum Kind: String, Codable, SchemaChoice {
            /// The token gets no push.
            case failed = "failed-push"
            /// With `sync`: the token has no outcome yet.
            case pending = "pending-push"
            /// The notification was handed in before, and is not sent again.
            case duplicate
            /// Keys of the request that have no effect.
            case ignored = "ignored-keys"
            /// Entries for which the answer has no room.
            case leftOut = "left-out"
        }

        package var notifID: String?
        package let type: Kind
        package let platform: String
        package let token: String
        package let message: String
        package let error: String

        package enum CodingKeys: String, CodingKey {
            case notifID = "notif_id"
            case type, platform, token, message, error
        }
    }
}
