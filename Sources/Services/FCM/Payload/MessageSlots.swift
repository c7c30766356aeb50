import PushWire

/// The places of a payload that are filled in when it is sent: the time to live, which depends on that time, and the tag
/// of a notification, by which a second copy replaces the first on the device.
///
/// Plain fields are rendered so that the places are at the beginning, with empty strings, which FCM would not take. A
/// request is then made without parsing:
///
///     {"android":{"ttl":"","notification":{"tag":"",…},…},…}
struct MessageSlots: Equatable {
    /// The offset of the time to live; nil if there is none to fill in.
    var timeToLive: Int?
    /// The offset of the tag; nil if there is none to fill in.
    var tag: Int?

    private static let start = Array(#"{"android":{"#.utf8)
    private static let timeToLiveStart = Array(#""ttl":""#.utf8)
    private static let tagStart = Array(#""notification":{"tag":""#.utf8)
    private static let quote = UInt8(ascii: "\"")

    init(_ payload: [UInt8]) {
        guard payload.starts(with: Self.start) else { return }
        var rest = payload.dropFirst(Self.start.count)
        if let place = Self.emptyValue(after: Self.timeToLiveStart, in: rest) {
            timeToLive = place
            rest = payload.dropFirst(place + 1)
            guard rest.first == UInt8(ascii: ",") else { return }
            rest = rest.dropFirst()
        }
        tag = Self.emptyValue(after: Self.tagStart, in: rest)
    }

    private static func emptyValue(after start: [UInt8], in rest: ArraySlice<UInt8>) -> Int? {
        guard rest.starts(with: start) else { return nil }
        let place = rest.startIndex + start.count
        return place < rest.endIndex && rest[place] == quote ? place : nil
    }
}
