/// The APNs environment of an app. Tokens of one environment are invalid in the other.
package enum PushEnvironment: String, CaseIterable, Sendable {
    case production, sandbox
}
