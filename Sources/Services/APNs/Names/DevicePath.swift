/// The path to which notifications for devices are posted.
package enum DevicePath {
    /// The part before the token in hexadecimal digits.
    package static let prefix: StaticString = "/3/device/"
}
