import PushLoop

extension LogKey {
    static let app = LogKey("app")
    /// Family and kind of an event, as monitors will know it.
    static let event = LogKey("event")
    static let age = LogKey("age")
    static let answered = LogKey("answered")
    static let connections = LogKey("connections")
    static let expires = LogKey("expires")
    static let fingerprint = LogKey("fingerprint")
    static let maximum = LogKey("maximum")
    static let minimum = LogKey("minimum")
    static let streams = LogKey("streams")
    static let key = LogKey("key")
    static let windowDays = LogKey("window_days")
}
