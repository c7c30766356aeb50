import PushModel
import PushWire

/// A buffer for the values of one request: its path, time to live and topic. It is reused for each request.
@safe
final class WebPushValues {
    private static let topicLength = 32
    private static let timeOffset = Address.maxLength + 1
    private static let topicOffset = timeOffset + 24
    private static let size = topicOffset + topicLength
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private let text: UnsafeMutablePointer<UInt8>
    private let values: UnsafeMutablePointer<UnsafeRawBufferPointer>
    private var lastTime: Int64 = -1

    init() {
        unsafe text = .allocate(capacity: Self.size)
        unsafe text.initialize(repeating: UInt8(ascii: "A"), count: Self.size)
        unsafe values = .allocate(capacity: 3)
        unsafe values.initialize(repeating: UnsafeRawBufferPointer(start: text, count: 0), count: 3)
        unsafe values[2] = UnsafeRawBufferPointer(start: text + Self.topicOffset, count: Self.topicLength)
    }

    deinit {
        unsafe text.deallocate()
        unsafe values.deallocate()
    }

    /// The values in the order of the fields in ``WebPushShapes``. They are valid until one is set.
    var all: UnsafeBufferPointer<UnsafeRawBufferPointer> { unsafe UnsafeBufferPointer(start: values, count: 3) }

    /// Returns a copy of one of the values.
    func text(_ index: Int) -> String { unsafe String(decoding: values[index], as: UTF8.self) }

    /// Copies the path of an endpoint.
    ///
    /// - Parameter address: The bytes of the address, which the endpoint precedes.
    func setPath(of address: [UInt8], endpointLength: Int) {
        let end = min(endpointLength, Address.maxLength, address.count)
        // Behind `https://`, the host ends with the first slash or question mark.
        var start = 8
        while start < end, address[start] != UInt8(ascii: "/"), address[start] != UInt8(ascii: "?") { start += 1 }
        var length = 0
        if start >= end || address[start] == UInt8(ascii: "?") {
            unsafe text[0] = UInt8(ascii: "/")
            length = 1
        }
        while start < end {
            // Intake refuses such bytes. A damaged store must not split a field.
            let byte = address[start]
            unsafe text[length] = (0x21...0x7e).contains(byte) ? byte : UInt8(ascii: "_")
            length += 1
            start += 1
        }
        unsafe values[0] = UnsafeRawBufferPointer(start: text, count: length)
    }

    /// Writes the time to live. Consecutive deliveries mostly have the same.
    func setTimeToLive(_ seconds: Int64) {
        guard seconds != lastTime else { return }
        lastTime = seconds
        var digits: [UInt8] = []
        DecimalText.append(max(0, seconds), to: &digits)
        for (index, digit) in digits.enumerated() { unsafe text[Self.timeOffset + index] = digit }
        unsafe values[1] = UnsafeRawBufferPointer(start: text + Self.timeOffset, count: digits.count)
    }

    /// Writes the first 24 bytes of a digest in base64url.
    func setTopic(_ digest: UnsafeMutablePointer<UInt8>) {
        for group in 0..<8 {
            var bits: UInt32 = 0
            for index in 0..<3 { bits = unsafe bits << 8 | UInt32(digest[3 * group + index]) }
            for index in 0..<4 {
                let digit = Self.alphabet[Int(bits >> UInt32(18 - 6 * index) & 63)]
                unsafe text[Self.topicOffset + 4 * group + index] = digit
            }
        }
    }
}
