import APNs
import PushModel
import PushWire

extension FuzzTarget {
    /// Payloads from producers and answers from a provider: the strict reader and the payload rules.
    static let payload = FuzzTarget(
        name: "payload",
        seeds: {
            let payloads = [
                #"{"aps":{"alert":{"title":"a","loc-args":["b"]},"badge":1,"sound":{"name":"x","volume":0.5}},"k":[1,2.5e-3]}"#,
                #"{"aps":{"timestamp":1,"event":"start","attributes-type":"A","attributes":{},"content-state":{}}}"#,
                #"{"aps":{"content-available":1}}"#, #"{"mdm":"\u00e9\ud83d\ude00"}"#, #"{"a":1,"a":2}"#,
                #"{"reason":"Unregistered","timestamp":1767225600000}"#, #"[true,false,null,-0.0,1E9,"",{"a":[[[]]]}]"#,
            ]
            return payloads.enumerated().map { [UInt8($0.offset), 10, 1] + Array($0.element.utf8) }
        },
        run: { input in
            let types = PushType.allCases
            let type = input.byte()
            let priority = Int(input.byte())
            let expiration: Int64? = input.flag() ? Int64(input.byte()) << 30 : nil
            let bytes = input.rest()
            let target: PushOptions.Target = type & 0x80 != 0 ? .broadcast : .device(types[Int(type) % types.count])
            let options = PushOptions(target, priority: priority, expiration: expiration, now: nil)
            let findings = PayloadRules.findings(in: bytes, for: options)
            for finding in findings { require(!"\(finding)".isEmpty, "a finding without a description") }
            let answer = ProviderAnswer(body: bytes)
            let length = answer.reason?.rawValue.utf8.count ?? 0
            require(length <= ProviderAnswer.maxReasonLength, "a reason of \(length) bytes")
            let refusal = Refusal(status: Int(type) << 2, body: bytes, retryAfter: nil)
            require(!ReasonTable.apns.explanation(of: refusal).advice.isEmpty, "an answer without advice")
            if JSONDocument.isObject(bytes) {
                require(String(validating: bytes, as: UTF8.self) != nil, "accepted JSON is not UTF-8")
            }
        })
}
