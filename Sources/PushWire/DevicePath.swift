/// Where notifications for devices are posted.
package enum DevicePath {
    /// The token in hexadecimal digits follows.
    package static let prefix: StaticString = "/3/device/"
}
