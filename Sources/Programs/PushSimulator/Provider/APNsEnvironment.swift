/// The Apple environment that a listener simulates. Tokens, keys and channels of one environment are invalid in the
/// other.
package enum APNsEnvironment: String, CaseIterable, Sendable {
    case production, sandbox
}
