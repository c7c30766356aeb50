struct Watching {
    init(_ options: Options) throws {}
    func run() async throws {}
}
