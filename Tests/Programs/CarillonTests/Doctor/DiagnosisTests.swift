import FoundationEssentials
import PushAPI
import PushConfiguration
import PushGateways
import PushModel
import PushServer
import PushTime
import Testing

@testable import carillon

/// Tests of the conclusions, for facts that a test cannot provoke on any machine.
@Suite struct DiagnosisTests {
    private static let start = WallTime(milliseconds: 1_767_225_600_000)

    private func facts(_ change: (inout DoctorFacts) -> Void = { _ in }) -> DoctorFacts {
        var facts = DoctorFacts()
        facts.now = Self.start
        facts.process = .running
        facts.directory = "/data"
        change(&facts)
        return facts
    }

    private func codes(_ change: (inout DoctorFacts) -> Void) -> [String] {
        Diagnosis(facts: facts(change)).findings.map { "\($0.severity) \($0.code.rawValue)" }
    }

    @Test func `A healthy installation has no findings`() {
        #expect(codes { _ in } == [])
        #expect(
            codes {
                $0.disk = InstallationFacts.Disk(
                    availableBytes: 50 << 30, sizeBytes: 100 << 30, freeInodes: 1000, inodes: 2000, isReadOnly: false)
                $0.isClockSynchronized = true
                $0.memory = (4 << 30, 8 << 30)
                $0.descriptors = (100, 1024)
                ($0.ledger, $0.registry) = (.version(InstallationFacts.newestLedger), .version(0))
            } == [])
    }

    @Test func `A backup that is old or was never made is a note`() {
        func ended(_ seconds: Int64) -> [String] {
            codes { $0.lastBackup = .ended(WallTime(milliseconds: Self.start.milliseconds - 1000 * seconds)) }
        }
        #expect(codes { $0.lastBackup = .never } == ["note backup"])
        #expect(codes { $0.lastBackup = .unknown } == [])
        // The clock may have been set back since.
        #expect(ended(0) == [] && ended(7 * 86_400) == [] && ended(-100) == [])
        #expect(ended(7 * 86_400 + 1) == ["note backup"])
        let old = Diagnosis(
            facts: facts { $0.lastBackup = .ended(WallTime(milliseconds: Self.start.milliseconds - 9 * 86_400_000)) }
        ).findings.first
        #expect(old?.what == "the last 'carillon backup' ended 9 days ago" && old?.place == "/data")
    }

    @Test func `A database that is missing beside the other one is a fault`() {
        let (some, none) = (InstallationFacts.StoredFile.version(2), InstallationFacts.StoredFile?.none)
        func found(
            _ ledger: InstallationFacts.StoredFile?, _ registry: InstallationFacts.StoredFile?, hasRun: Bool = false
        ) -> [String] {
            codes {
                ($0.ledger, $0.registry, $0.hasRun, $0.process) = (ledger, registry, hasRun, .none)
                $0.directory = nil
            }
        }
        #expect(found(some, some) == [] && found(none, none) == [] && found(.empty, .empty) == [])
        #expect(found(some, none) == ["fault store_damaged"] && found(some, .empty) == ["fault store_damaged"])
        #expect(found(.empty, some) == ["fault store_damaged"])
        // An API key may be made before the first start.
        #expect(found(none, some) == [] && found(none, some, hasRun: true) == ["fault store_damaged"])
        #expect(codes { $0.registry = some } == ["fault store_damaged"])
        #expect(found(some, .foreign(what: "of another", remedy: "put it back")) == ["fault store_damaged"])
    }

    @Test func `The endpoints of a Carillon that cannot be asked are not a fault`() {
        let fault = StartError(.unavailable, "cannot open http.listen 127.0.0.1:8470: Address already in use")
        #expect(codes { ($0.startFaults, $0.process) = ([fault], .none) }.contains("fault start"))
        #expect(
            codes { ($0.startFaults, $0.process) = ([fault], .forbidden("not permitted")) } == ["fault not_permitted"])
        #expect(
            codes { ($0.startFaults, $0.process) = ([fault], .silent("no answer", holder: nil)) } == [
                "fault not_answering"
            ])
    }

    @Test func `The process that does not answer is named`() {
        let facts = facts { $0.process = .silent("timed out", holder: 4711) }
        #expect(Diagnosis(facts: facts).findings.first?.what.contains("a Carillon (process 4711) has locked") == true)
    }

    @Test func `The machine is judged`() {
        #expect(codes { $0.isClockSynchronized = false } == ["warning clock"])
        #expect(codes { $0.zones = ("/usr/share/zoneinfo", 0) } == ["note time_zones"])
        #expect(codes { $0.zones = ("/usr/share/zoneinfo", 1) } == [])
        #expect(codes { $0.descriptors = (930, 1024) } == ["warning descriptors"])
        #expect(codes { $0.memory = (32 << 20, 1 << 30) } == ["warning memory"])
        #expect(
            codes {
                $0.disk = InstallationFacts.Disk(
                    availableBytes: 4 << 30, sizeBytes: 100 << 30, freeInodes: 0, inodes: 0, isReadOnly: false)
            } == ["warning disk_full"])
        #expect(
            codes {
                $0.disk = InstallationFacts.Disk(
                    availableBytes: 1 << 20, sizeBytes: 100 << 30, freeInodes: 1, inodes: 100, isReadOnly: true)
            } == ["fault disk_read_only", "fault disk_full", "fault inodes_used_up"])
    }

    @Test func `The running Carillon is judged`() {
        #expect(codes { $0.runningVersion = "0.0.9" } == ["warning other_version"])
        #expect(codes { $0.runningVersion = $0.version } == [])
        #expect(codes { $0.isExecutableReplaced = true } == ["warning other_version"])
        #expect(codes { $0.found = [Finding(.note, .deafSubscribers, "acks")] } == ["note deaf_subscribers"])
        #expect(codes { $0.process = .silent("no answer", holder: nil) }.contains("fault not_answering"))
        #expect(codes { $0.process = .forbidden("no") }.contains("fault not_permitted"))
    }

    @Test func `Advice about credentials is that of the push service`() throws {
        var facts = facts()
        var shop = DoctorFacts.App(name: "shop", service: "stub.example.com:443")
        (shop.expiresAt, shop.renewal) = (WallTime(milliseconds: facts.now.milliseconds - 1), Self.stub.renewal)
        let peer = TrialPeer(
            address: "stub.example.com:443", isOfOwner: false, trust: "stub.pem", description: Self.stub,
            reasons: Self.reasons)
        shop.verdict = Verdict(.refused(Refusal(status: 401, reason: nil)), of: peer)
        facts.apps = [shop]
        let findings = Diagnosis(facts: facts).findings
        #expect(findings.map(\.code) == [.credentialRefused, .credentialExpires])
        #expect(findings.map(\.advice) == ["write to the stub", "ask the stub for another key"])
        #expect(findings.map(\.app) == ["shop", "shop"])
        #expect(findings.map(\.place) == ["shop (stub.example.com:443)", "shop"])
    }

    private static let stub = ServiceDescription(
        owner: "Stub", address: "name", renewal: "ask the stub for another key",
        misdirection: "check the names of the app")
    private static let reasons = ReasonTable([], credentialAdvice: "write to the stub") { status in
        status == 401 ? (.halt, .credential) : ReasonTable.ofStatus(status)
    }

    @Test func `The end of the certificate of the HTTP port is a warning and then a fault`() {
        func certificate(_ days: Int64) -> [String] {
            codes {
                $0.serverCertificate = ServerCertificateCheck(
                    file: "http.pem", expiresAt: WallTime(milliseconds: $0.now.milliseconds + days * 86_400_000))
            }
        }
        #expect(certificate(40) == [])
        #expect(certificate(20) == ["warning credential_expires"])
        #expect(certificate(-1) == ["fault credential_expires"])
    }

    @Test func `What was found out here is not repeated, and an answer of the push service says more`() {
        var app = DoctorFacts.App(name: "shop", service: "push.example")
        app.verdict = Verdict(.credentialRefused, "the key is refused")
        let running = [
            Finding(.fault, .notReady, "halted", of: "shop"), Finding(.warning, .breaker, "open", of: "shop"),
            Finding(.warning, .backlog, "5 messages wait", of: "shop"),
            Finding(.fault, .notReady, "halted", of: "news"),
        ]
        let asked = Diagnosis(facts: facts { ($0.apps, $0.found) = ([app], running) }).findings
        #expect(asked.map(\.code) == [.notReady, .credentialRefused, .backlog])
        #expect(asked.map(\.app) == ["news", "shop", "shop"])
        let end = WallTime(milliseconds: Self.start.milliseconds + 86_400_000)
        var ending = DoctorFacts.App(name: "shop", service: "push.example")
        ending.expiresAt = end
        let expiry = Finding.expiry(of: "shop", at: nil, end, now: Self.start, renewal: nil)
        #expect(
            codes { ($0.apps, $0.found) = ([ending], [expiry].compactMap { $0 }) } == ["warning credential_expires"])
    }

    @Test func `Findings come in order of weight`() {
        let all = Finding.Severity.allCases.reversed().flatMap { severity in
            Finding.Code.allCases.reversed().flatMap { code in
                [Finding(severity, code, "first"), Finding(severity, code, "second")]
            }
        }
        let sorted = all.byWeight
        #expect(sorted.count == all.count)
        #expect(sorted.prefix(2).map(\.what) == ["first", "second"])
        #expect(sorted.first?.code == .configuration && sorted.first?.severity == .fault)
        #expect(sorted.last?.code == .notRunning && sorted.last?.severity == .note)
    }

    @Test func `The documentation lists all codes, in order of weight`() throws {
        let root = #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let page = try String(contentsOf: URL(filePath: "/\(root)/Documentation/Doctor.md"), encoding: .utf8)
        let listed = page.split(separator: "\n").filter { $0.hasPrefix("| `") }.compactMap {
            $0.split(separator: "`").dropFirst().first.map(String.init)
        }
        #expect(listed == Finding.Code.allCases.map(\.rawValue))
    }
}
