package import PushTime

/// What a message does with Live Activities.
package struct ActivityPart: Sendable, Hashable {
    package enum Event: UInt8, Sendable, CaseIterable {
        case start, update, end
    }

    package let event: Event
    /// The type of the activities that a start creates. It goes to addresses that start activities of this type.
    package let type: String?
    /// Whether the payload begins with a time that is that of the acceptance (``ActivityTimestamp``). Otherwise the
    /// producer has given the whole payload.
    package let isStamped: Bool

    package init(_ event: Event, type: String? = nil, isStamped: Bool) {
        self.event = event
        self.type = type
        self.isStamped = isStamped
    }

    /// The largest length of the names of activities and of their types in bytes.
    package static let maxNameLength = 128
}

/// The time in the payload of a Live Activity, by which a device tells what is newer. It stands at the front, in ten
/// digits, so that the time of the acceptance can replace that of the parsing.
package enum ActivityTimestamp {
    package static let front: StaticString = "{\"aps\":{\"timestamp\":"
    private static let digits = front.utf8CodeUnitCount..<front.utf8CodeUnitCount + 10
    private static let range: ClosedRange<Int64> = 1_000_000_000...9_999_999_999

    /// The number that is written for a time. Times that have another number of digits become the nearest that have ten.
    package static func number(_ time: UnixSeconds) -> Int64 {
        min(max(time.value, range.lowerBound), range.upperBound)
    }

    private static func text(_ time: UnixSeconds) -> String { String(number(time)) }

    /// Returns a payload with another time.
    package static func payload(_ payload: [UInt8], at time: UnixSeconds) -> [UInt8] {
        guard payload.count >= digits.upperBound else { return payload }
        var payload = payload
        payload.replaceSubrange(digits, with: text(time).utf8)
        return payload
    }

    /// Whether a payload has this time.
    package static func has(_ time: UnixSeconds, _ payload: [UInt8]) -> Bool {
        payload.count >= digits.upperBound && payload[digits].elementsEqual(text(time).utf8)
    }

    /// The parts of a payload that do not depend on the time.
    package static func others(in payload: [UInt8]) -> (ArraySlice<UInt8>, ArraySlice<UInt8>) {
        guard payload.count >= digits.upperBound else { return (payload[...], []) }
        return (payload[..<digits.lowerBound], payload[digits.upperBound...])
    }
}
