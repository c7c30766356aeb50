import PushModel

/// How long a push service keeps a message for a browser that is offline.
enum TimeToLive {
    /// The longest time that all push services take; Mozilla and Apple cut longer ones to 30 days.
    static let max: Int64 = 30 * 86_400
    /// For messages without `expires_at`.
    static let unlimited: Int64 = 28 * 86_400

    /// - Parameter now: The time in seconds since 1970.
    static func seconds(of expiry: Expiry, at now: Int64) -> Int64 {
        expiry.timeToLive(at: now, unlimited: unlimited, longest: max)
    }
}
