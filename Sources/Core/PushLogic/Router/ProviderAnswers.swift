package import PushModel

/// The answers of the push service in one report of a gateway, and the candidates for deactivation among them. They
/// stay together because the brake on deactivations compares their numbers.
package struct ProviderAnswers: Sendable, Equatable {
    package let app: AppID
    /// The number of answers, including those about candidates.
    package var count: Int
    package var candidates: [Deactivation]

    package init(app: AppID, count: Int = 0, candidates: [Deactivation] = []) {
        self.app = app
        self.count = count
        self.candidates = candidates
    }

    var isEmpty: Bool { count == 0 && candidates.isEmpty }
}
