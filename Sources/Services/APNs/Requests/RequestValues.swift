import PushModel
import PushWire

/// A buffer for the values of one request: a path, an id, an expiration and a collapse id. It is reused for each
/// request.
@safe
final class RequestValues {
    private static let pathRoom = 10 + 2 * Address.maxLength
    private static let idOffset = (pathRoom + 7) / 8 * 8
    private static let expirationOffset = idOffset + 40
    private static let collapseOffset = expirationOffset + 24
    private static let size = collapseOffset + 64
    private static let maxCount = 4

    private let text: UnsafeMutableRawPointer
    private let values: UnsafeMutablePointer<UnsafeRawBufferPointer>

    private var lastExpiration: Int64?
    private var lastExpirationText = unsafe UnsafeRawBufferPointer(start: nil, count: 0)

    init() {
        unsafe text = .allocate(byteCount: Self.size, alignment: 8)
        unsafe values = .allocate(capacity: Self.maxCount)
        unsafe values.initialize(repeating: UnsafeRawBufferPointer(start: nil, count: 0), count: Self.maxCount)
        let prefix = DevicePath.prefix
        unsafe text.copyMemory(from: prefix.utf8Start, byteCount: prefix.utf8CodeUnitCount)
    }

    deinit {
        unsafe text.deallocate()
        unsafe values.deallocate()
    }

    /// Returns the values in the order of the fields in ``RequestShapes``. They are valid until the next call.
    func write(_ delivery: borrowing Delivery) -> UnsafeBufferPointer<UnsafeRawBufferPointer> {
        let prefix = DevicePath.prefix.utf8CodeUnitCount
        let digits = unsafe delivery.token.writeHex(into: text + prefix)
        unsafe values[0] = unsafe UnsafeRawBufferPointer(start: text, count: prefix + digits)
        unsafe delivery.deliveryID.write(into: text + Self.idOffset)
        unsafe values[1] = unsafe UnsafeRawBufferPointer(start: text + Self.idOffset, count: DeliveryID.textLength)
        var count = 2
        if let expiresAt = delivery.message.expiry.expiresAt {
            unsafe values[count] = expiration(expiresAt)
            count += 1
        }
        if let collapseID = delivery.message.collapseID {
            let target = unsafe text + Self.collapseOffset
            let length = unsafe Array(collapseID.text.utf8).withUnsafeBytes { bytes in
                unsafe target.copyMemory(from: bytes.baseAddress!, byteCount: bytes.count)
                return bytes.count
            }
            unsafe values[count] = unsafe UnsafeRawBufferPointer(start: target, count: length)
            count += 1
        }
        return unsafe UnsafeBufferPointer(start: values, count: count)
    }

    /// Returns the expiration as text. Consecutive deliveries mostly belong to one message, so the last text is cached.
    private func expiration(_ seconds: Int64) -> UnsafeRawBufferPointer {
        if seconds != lastExpiration {
            lastExpiration = seconds
            unsafe lastExpirationText = writeDecimal(max(0, seconds))
        }
        return unsafe lastExpirationText
    }

    private func writeDecimal(_ number: Int64) -> UnsafeRawBufferPointer {
        // 2^63 has 19 digits.
        let end = unsafe text + Self.expirationOffset + 20
        var rest = number
        var digits = 0
        repeat {
            digits += 1
            unsafe (end - digits).storeBytes(of: UInt8(ascii: "0") + UInt8(rest % 10), as: UInt8.self)
            rest /= 10
        } while rest > 0
        return unsafe UnsafeRawBufferPointer(start: end - digits, count: digits)
    }
}
