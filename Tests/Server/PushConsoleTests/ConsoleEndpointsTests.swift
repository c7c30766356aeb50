import FoundationEssentials
import PushModel
import PushTransport
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PushConsole

@Suite(.waits) struct ConsoleEndpointsTests {
    private static let assets: String = {
        var path = #filePath.split(separator: "/")
        path.removeLast(4)
        return "/" + path.joined(separator: "/") + "/Sources/Server/PushConsole/Assets"
    }()

    @Test func `The compiled files are those of the folder`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.assets).sorted()
        #expect(ConsoleFile.all.map(\.name) == names)
        for file in ConsoleFile.all {
            let content = try String(contentsOfFile: "\(Self.assets)/\(file.name)", encoding: .utf8)
            #expect(file.text == content, "\(file.name)")
        }
    }

    @Test func `Every file has the headers of the contract`() async throws {
        try await withControl(more: { _ in ConsoleEndpoints.all() }) { control in
            let paths = ConsoleEndpoints.all().map(\.operation.path)
            #expect(paths.count == ConsoleFile.all.count)
            for path in paths {
                let answer = try await control.client.send("GET", to: path)
                #expect(answer.status == 200, "\(path)")
                let policy = answer.headers["Content-Security-Policy"]
                #expect(
                    policy == "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                        + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
                #expect(answer.headers["X-Content-Type-Options"] == "nosniff")
                #expect(answer.headers["Referrer-Policy"] == "no-referrer")
                #expect(answer.headers["Cross-Origin-Opener-Policy"] == "same-origin")
                #expect(answer.headers["Cross-Origin-Resource-Policy"] == "same-origin")
                let cache = path == "/" ? "no-cache" : "public, max-age=31536000, immutable"
                #expect(answer.headers.all("Cache-Control") == [cache])
                #expect(answer.headers["Content-Type"]?.hasPrefix("text/plain") == false, "\(path)")
                #expect(!answer.body.isEmpty)
            }
        }
    }

    @Test func `The page names its files, and no others exist`() async throws {
        try await withControl(more: { _ in ConsoleEndpoints.all() }) { control in
            let page = String(decoding: try await control.client.send("GET", to: "/").body, as: UTF8.self)
            #expect(!page.contains(ConsoleEndpoints.pathMark))
            let named = page.split(separator: "\"").filter { $0.hasPrefix("/console/") }
            #expect(named.count > 5)
            for path in named {
                #expect(try await control.client.send("GET", to: String(path)).status == 200, "\(path)")
            }
            let version = ConsoleEndpoints.version
            for path in [
                "/console", "/console/", "/console/\(version)", "/console/\(version)/",
                "/console/\(version)/index.html",
                "/console/0000000000000000/main.js", "/console/\(version)/main.js/", "/console/\(version)/nothing.js",
            ] {
                let answer = try await control.client.send("GET", to: path)
                #expect(answer.status == 404, "\(path)")
                #expect(answer.headers["Cache-Control"] == "no-store")
            }
            #expect(try await control.client.send("POST", to: "/").status == 405)
        }
    }

    private static let forbidden = [
        "style=\"", "innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "new Function", "<script>",
    ]

    /// The policy forbids them; a browser would ignore them without a word.
    @Test func `There are no inline scripts or styles, and no addresses of other hosts`() {
        for file in ConsoleFile.all {
            for word in Self.forbidden { #expect(!file.text.contains(word), "\(file.name): \(word)") }
            let addresses = file.text.split(separator: "http").dropFirst().filter {
                ($0.hasPrefix("://") || $0.hasPrefix("s://")) && !$0.hasPrefix("://www.w3.org/2000/svg")
                    && !$0.hasPrefix("://127.0.0.1")
            }
            #expect(addresses.isEmpty, "\(file.name): \(addresses)")
        }
        #expect(ConsoleFile.all.reduce(0) { $0 + $1.text.utf8.count } < 256 * 1024, "the console stays small")
    }

    @Test func `Endpoints of the console are open to all`() throws {
        for endpoint in ConsoleEndpoints.all() { #expect(endpoint.operation.access == .open) }
    }
}
