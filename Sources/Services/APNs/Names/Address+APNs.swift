package import PushModel

extension Address {
    /// The largest length of a device token in bytes, of which Apple's documentation of the legacy interface allows 100.
    package static let maxTokenLength = 100
}
