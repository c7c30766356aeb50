import JSON5

/// The simulated `verifyReceipt`, which Apple has deprecated. It takes requests as Apple's server does, and answers with
/// Apple's statuses, always with the HTTP status 200.
///
/// A receipt of the simulator is the Base64 text of a JSON object that describes itself:
/// `{"bundle_id": …, "product_id": …, "environment": "Production" or "Sandbox", "shared_secret"?: …, "status"?: …,
/// "times"?: …}`. With a `status`, that is the answer, for the given number of times or always.
struct ReceiptVerifier {
    private static let maxBody = 1 << 20
    /// The maximum number of receipts whose answers are counted. Beyond it, the counts begin again.
    private static let maxCounted = 10_000

    private var answered: [[UInt8]: Int64] = [:]

    /// Answers a request at the production server or the sandbox.
    mutating func answer(_ body: [UInt8], isSandbox: Bool) -> [UInt8] {
        let place = isSandbox ? "Sandbox" : "Production"
        guard body.count <= Self.maxBody, let request = try? JSON5Reader.read(body), request.members != nil else {
            return Self.status(21000, place)
        }
        guard let text = request["receipt-data"]?.string,
            let bytes = ByteView.lending(Array(text.utf8), to: { Base64.decode($0) }),
            let receipt = try? JSON5Reader.read(bytes), let bundleID = receipt["bundle_id"]?.string
        else { return Self.status(21002, place) }
        let environment = receipt["environment"]?.string ?? "Production"
        if environment != place { return Self.status(isSandbox ? 21008 : 21007, place) }
        if let secret = receipt["shared_secret"]?.string, request["password"]?.string != secret {
            return Self.status(21004, place)
        }
        if let status = receipt["status"]?.integer, isDue(bytes, times: receipt["times"]?.integer) {
            return Self.status(status, place)
        }
        return Self.valid(bundleID, product: receipt["product_id"]?.string ?? "com.example.product", at: place)
    }

    private mutating func isDue(_ receipt: [UInt8], times: Int64?) -> Bool {
        guard let times else { return true }
        if answered.count >= Self.maxCounted { answered = [:] }
        let count = answered[receipt, default: 0]
        answered[receipt] = count + 1
        return count < times
    }

    private static func status(_ status: Int64, _ environment: String) -> [UInt8] {
        var text = JSONText()
        text.object {
            $0.member("status", number: status)
            $0.member("environment", string: environment)
            // The only range in which Apple's server says whether to try again.
            if (21100...21199).contains(status) { $0.member("is_retryable", boolean: true) }
        }
        return text.bytes
    }

    private static func valid(_ bundleID: String, product productID: String, at environment: String) -> [UInt8] {
        var text = JSONText()
        text.object {
            $0.member("status", number: 0)
            $0.member("environment", string: environment)
            $0.object("receipt") {
                $0.member("receipt_type", string: environment == "Production" ? "Production" : "ProductionSandbox")
                $0.member("bundle_id", string: bundleID)
                $0.member("application_version", string: "1")
                $0.array("in_app") { list in
                    list.object {
                        $0.member("quantity", string: "1")
                        $0.member("product_id", string: productID)
                        $0.member("transaction_id", string: "1000000000000001")
                        $0.member("original_transaction_id", string: "1000000000000001")
                        $0.member("purchase_date_ms", string: "1795313619000")
                    }
                }
            }
        }
        return text.bytes
    }
}
