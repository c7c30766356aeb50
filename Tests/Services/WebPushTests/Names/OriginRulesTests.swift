import PushModel
import PushWire
import Testing

@testable import WebPush

/// Which origins an app sends to.
@Suite struct OriginRulesTests {
    private func rules(_ patterns: [String], networks: [String] = [], endpoint: Origin? = nil) throws -> OriginRules {
        var rules = OriginRules()
        rules.patterns = patterns
        rules.privateNetworks = try networks.map { try AddressRange($0) }
        rules.endpoint = endpoint
        return rules
    }

    private func fault(_ endpoint: String, _ rules: OriginRules) -> String? {
        var settings = WebPushSettings(vapid: "v", subject: "mailto:a@example.com")
        settings.origins = rules
        do {
            let codec = WebPushCodec(app: AppID("web")!, settings: settings)
            _ = try codec.address(SubscriptionTests.subscription(endpoint))
            return nil
        } catch {
            return error.problem
        }
    }

    @Test(
        "The push services of browsers are allowed unless the app says otherwise, and no others",
        arguments: [
            ("https://fcm.googleapis.com/x", true), ("https://updates.push.services.mozilla.com/x", true),
            ("https://wns2-par02p.notify.windows.com/x", true), ("https://web.push.apple.com/x", true),
            ("https://evil.example/x", false), ("https://fcm.googleapis.com.evil.example/x", false),
            ("https://xfcm.googleapis.com/x", false), ("https://notify.windows.com/x", false),
            ("https://fcm.googleapis.com:8443/x", false), ("https://evilpush.apple.com/x", false),
        ])
    func usual(endpoint: String, isAllowed: Bool) {
        let problem = fault(endpoint, OriginRules())
        #expect((problem == nil) == isAllowed)
        if !isAllowed { #expect(problem?.contains("origins") == true) }
    }

    @Test("An address of a private network needs its network, or to be the endpoint of the app")
    func privateNetworks() throws {
        let hosts = ["10.1.2.3:8443", "127.0.0.1:8443", "[::1]:8443", "[::ffff:10.0.0.1]:8443", "169.254.1.1:8443"]
        for host in hosts {
            let pattern = EndpointText.origin(host.utf8)?.authority ?? "?"
            #expect(fault("https://\(host)/x", try rules([pattern]))?.contains("private") == true, "\(host)")
            #expect(fault("https://\(host)/x", try rules([], endpoint: EndpointText.origin(host.utf8))) == nil)
        }
        #expect(fault("https://10.1.2.3:8443/x", try rules(["10.1.2.3:8443"], networks: ["10.0.0.0/8"])) == nil)
        #expect(
            fault("https://10.1.2.3:8443/x", try rules(["10.1.2.3:8443"], networks: ["192.168.0.0/16"])) != nil)
        #expect(fault("https://8.8.8.8/x", try rules(["8.8.8.8"])) == nil)
    }

    @Test(
        "A pattern is a host, with a port and with all names below or not",
        arguments: [
            ("a.example", true), ("*.a.example", true), ("a.example:8443", true), ("*.a.example:8443", true),
            ("10.0.0.1", true), ("[2001:db8::1]:8443", true), ("localhost", true), ("*", false), ("*.", false),
            ("*.com", false), ("*.10.0.0.1", false), ("https://a.example", false), ("a.example/", false),
            ("A.example", false), ("a.example:443", false), ("a.*.example", false), ("", false),
        ])
    func patterns(text: String, isValid: Bool) {
        #expect(OriginRules.isPattern(text) == isValid)
    }
}
