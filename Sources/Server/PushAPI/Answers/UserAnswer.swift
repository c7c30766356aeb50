package import PushStore
package import PushTime

/// A page of what is stored about a user.
package struct UserAnswer: JSONAnswer, Equatable {
    /// A report of an app that a notification was displayed or opened.
    package struct UserReport: Codable, Sendable, Equatable {
        package var device: String
        package var app: String
        package var message: String
        /// `displayed` or `opened`.
        package var kind: String
        package var at: WallTime

        package enum CodingKeys: String, CodingKey {
            case device, app, kind
            case at = "reported_at"
            case message = "message_id"
        }
    }

    package var user: String
    package var devices: [DeviceAnswer] = []
    package var reports: [UserReport] = []
    package var messages: [MessageSummary] = []
    package var next = PageCursor.end

    package static var about: [String: String] {
        [
            "devices": "The addresses of the user, without their tokens.",
            "reports": "What these addresses have reported as displayed or opened, within the retention of the log.",
            "messages":
                "The messages within the retention of the log whose audience names the user. Other users are left out.",
        ]
    }

    package init(_ user: String) {
        self.user = user
    }

    var isEmpty: Bool { devices.isEmpty && messages.isEmpty }
}

/// What the erasure of a user has changed.
package struct UserErasureAnswer: JSONAnswer, Equatable {
    /// The number of addresses that were erased.
    package var devices: Int
    /// The number of stored messages that named the user.
    package var messages: Int
}
