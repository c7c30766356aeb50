package import PushTime

/// A page of the deliveries of a message that have ended.
package struct DeliveryListAnswer: JSONAnswer, Equatable {
    package struct Delivery: Codable, Sendable, Equatable {
        /// The app, in the answer for a family; left out for an app.
        package var app: String?
        package var device: String?
        package var deliveryID: String?
        /// `sent`, `rejected`, `expired`, `suppressed`, `superseded` or `unknown`.
        package var outcome: String
        package var status: UInt64?
        package var reason: String?
        package var attempt: UInt64?
        package var seq: UInt64
        /// The part of `seq` in a cluster; left out if it is 0.
        package var part: Int?
        package var endedAt: WallTime

        package enum CodingKeys: String, CodingKey {
            case app, device, outcome, status, reason, attempt, seq, part
            case deliveryID = "apns_id"
            case endedAt = "ended_at"
        }
    }

    package var deliveries: [Delivery]
    package var next: PageCursor
}
