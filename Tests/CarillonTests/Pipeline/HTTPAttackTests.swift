import TestTraits
import Testing

/// Tests of callers with keys, and of those that pretend to have one, with the whole program.
@Suite(.waits) struct HTTPAccessTests {
    @Test func `Signatures that are almost right are refused, and one that is right is accepted once`() async throws {
        try await PythonScene.run("forging", "forged")
    }

    @Test func `Of many copies of a signed request, one is accepted, also across a kill`() async throws {
        try await PythonScene.run("forging", "copied")
    }

    @Test func `Open connections and streams end with the rights of their key`() async throws {
        try await PythonScene.run("limiting", "ended")
    }

    @Test func `A key has its addresses and its rate, and a flood of it slows down no other`() async throws {
        try await PythonScene.run("limiting", "limited")
    }

    @Test func `Refusals are counted by reason, and logged without secrets and floods`() async throws {
        try await PythonScene.run("forging", "visible")
    }

    @Test func `Each route gives each role and app exactly what it declares`() async throws {
        try await PythonScene.run("rights", "matrix")
    }

    @Test func `Each route has the methods that it declares, and HEAD where it has GET`() async throws {
        try await PythonScene.run("rights", "methods")
    }

    @Test func `A live stream of a key has the events of its apps only`() async throws {
        try await PythonScene.run("rights", "streams")
    }
}

/// Tests of requests that two parsers may read differently, with the whole program.
@Suite(.waits) struct HTTPSmugglingTests {
    @Test func `Nothing is read behind a request whose end is not certain`() async throws {
        try await PythonScene.run("smuggling", "framing")
    }

    @Test func `A path is exactly the route that it names, or is refused`() async throws {
        try await PythonScene.run("smuggling", "paths")
    }

    @Test func `Pages of other sites and other names for the server are refused`() async throws {
        try await PythonScene.run("smuggling", "elsewhere")
    }

    @Test func `Ten thousand broken lines have their acks, and another app is served meanwhile`() async throws {
        try await PythonScene.run("stuffing", "broken_lines")
    }

    @Test func `Lines of 32 MiB, and lines that end within a character, are refused`() async throws {
        try await PythonScene.run("stuffing", "long_lines")
    }

    @Test func `JSON that no sane client sends has its answer at every route`() async throws {
        try await PythonScene.run("stuffing", "strange_json")
    }
}

/// Tests of clients that occupy what others need, with the whole program.
@Suite(.waits) struct HTTPStarvationTests {
    @Test(arguments: ["idle", "full", "slow", "streams", "resets"])
    func `Clients that take and do not give keep nobody out`(_ scene: String) async throws {
        try await PythonScene.run("starving", scene)
    }

    @Test(arguments: ["endless", "hoarded", "deaf"])
    func `The memory of clients that send without end or do not read is bounded`(_ scene: String) async throws {
        try await PythonScene.run("hoarding", scene)
    }
}

/// Tests of ends and faults of the program while HTTP producers push.
@Suite(.waits) struct HTTPCrashTests {
    @Test func `What was answered with 202 before a kill is carried out, and an id is accepted once`() async throws {
        try await PythonScene.run("toppling", "killed")
    }

    @Test func `A stop answers 202 or nothing to producers, and loses nothing that was acknowledged`() async throws {
        try await PythonScene.run("toppling", "drained")
    }

    @Test func `A stop ends in time, whatever its clients are doing`() async throws {
        try await PythonScene.run("toppling", "busy_stop")
    }

    @Test func `A registration that was answered before a kill is there after it, once`() async throws {
        try await PythonScene.run("toppling", "registered")
    }

    @Test func `On a full disk HTTP clients get 503, and nothing is acknowledged that is not on disk`() async throws {
        try await PythonScene.run("toppling", "disk_full")
    }

    @Test func `With more clients than descriptors, what was acknowledged is carried out`() async throws {
        try await PythonScene.run("toppling", "no_descriptors")
    }
}
