import PushWire

/// A time on the clock of each device: a message with it is sent when it is that time where the device is.
public struct DeviceTime: Sendable, Hashable {
    /// The date and the time of day, such as `2026-12-01T09:00`, with seconds or without.
    public var time: String
    /// The time zone of devices without one, such as `Europe/Berlin`. With nil, that of the app.
    public var timeZone: String?
    /// Whether the message is not sent where the time had passed when it was accepted.
    public var dropsLate = false

    /// Creates a time.
    public init(_ time: String, timeZone: String? = nil, dropsLate: Bool = false) {
        (self.time, self.timeZone, self.dropsLate) = (time, timeZone, dropsLate)
    }

    func write(to json: inout JSONWriter) {
        json.member("at_local", value: time)
        json.member("time_zone", value: timeZone)
        if dropsLate { json.member("late", value: "drop") }
    }
}
