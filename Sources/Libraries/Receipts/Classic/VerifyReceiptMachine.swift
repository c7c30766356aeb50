/// The decisions of one verification by Apple's `verifyReceipt`: the environment to ask, when to ask again, and the
/// result. It does no I/O and reads no clock; ``VerifyReceiptClient`` executes its actions.
///
/// Production is asked first, because App Review sends sandbox receipts to servers of production. The other environment
/// is asked at most once.
struct VerifyReceiptMachine {
    enum Action: Hashable {
        /// Send the receipt to this environment, after the pause.
        case send(StoreEnvironment, after: Duration)
        case accept(ClassicReceipt)
        case refuse(ReceiptRefusal)
    }

    private let policy: VerifyReceiptPolicy
    private var environment: StoreEnvironment
    private var hasSwitched = false
    private var retries = 0

    init(_ policy: VerifyReceiptPolicy) {
        self.policy = policy
        environment = policy.environments.contains(.production) ? .production : .sandbox
    }

    func start() -> Action {
        guard policy.environments.contains(environment) else {
            return .refuse(ReceiptRefusal(.wrongEnvironment, "No environment of the App Store is accepted."))
        }
        return .send(environment, after: .zero)
    }

    /// Notes a whole response.
    mutating func received(_ response: ReceiptResponse) -> Action {
        switch response.status {
        case 200: break
        case 408, 429, 500...599: return failed("the App Store answered with status \(response.status) of HTTP")
        default:
            return .refuse(
                ReceiptRefusal(
                    .serviceRefused, "The App Store refused the request with status \(response.status) of HTTP."))
        }
        do {
            let parsed = try VerifyReceiptResponse(response.body)
            return try act(on: parsed)
        } catch {
            return .refuse(error)
        }
    }

    /// Notes that there was no response.
    mutating func failed(_ cause: String) -> Action {
        retry(or: .serviceUnavailable, cause: cause)
    }

    private mutating func act(on response: VerifyReceiptResponse) throws(ReceiptRefusal) -> Action {
        switch response.status.remedy {
        case .accept:
            let receipt = try response.receipt(from: environment)
            let accepted = AcceptedApps(apps: policy.apps, environments: policy.environments)
            try accepted.check(bundleID: receipt.bundleID)
            return .accept(receipt)
        case .ask(let other): return ask(other)
        case .retry(let code): return retry(or: code, cause: "status \(response.status)")
        case .retryIfAllowed where response.isRetryable:
            return retry(or: .serviceUnavailable, cause: "status \(response.status)")
        case .retryIfAllowed: return Self.refuse(.serviceRefused, response.status)
        case .refuse(let code): return Self.refuse(code, response.status)
        }
    }

    private mutating func ask(_ other: StoreEnvironment) -> Action {
        guard other != environment, !hasSwitched else {
            return .refuse(
                ReceiptRefusal(
                    .malformedResponse,
                    "Neither production nor the sandbox accepts the receipt as its own; each refers to the other."))
        }
        guard policy.environments.contains(other) else {
            return .refuse(
                ReceiptRefusal(
                    .wrongEnvironment, "The receipt is from the environment \(other), which is not accepted."))
        }
        hasSwitched = true
        environment = other
        return .send(other, after: .zero)
    }

    private mutating func retry(or code: ReceiptRefusal.Code, cause: String) -> Action {
        guard retries < policy.maxRetries else {
            let advice = code.isRetryable ? "; try again later" : ""
            return .refuse(
                ReceiptRefusal(
                    code,
                    "The App Store did not verify the receipt in \(retries + 1) requests: "
                        + "\(ReceiptRefusal.plain(cause))\(advice)."))
        }
        var pause = min(policy.firstPause, policy.maxPause)
        for _ in 0..<retries where pause < policy.maxPause { pause = min(pause + pause, policy.maxPause) }
        retries += 1
        return .send(environment, after: pause)
    }

    private static func refuse(_ code: ReceiptRefusal.Code, _ status: ReceiptStatus) -> Action {
        .refuse(
            ReceiptRefusal(code, "The App Store refused the receipt with status \(status.rawValue): \(status.meaning).")
        )
    }
}
