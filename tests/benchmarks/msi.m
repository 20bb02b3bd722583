-- The protocol of protocols/MSI-cache.sm and MSI-dir.sm once more, for Rumur: what a checker that has
-- the model in a language of its own makes of it in the same minutes (bench_exploration.py).
--
-- Caches have one frame. Between a cache and the directory there is at most one request, one line of
-- data and so many InvAcks for each line of memory, so that channels are slots; orders of the
-- directory keep their order. A store draws its value, of two.

const
  CACHES: 2;
  LINES: 2;
  ORDERS: 3;

type
  Cache: scalarset(CACHES);
  Line: scalarset(LINES);
  Value: 0..1;
  Count: 0..CACHES;

  CacheState: enum { I, IS_D, IM_AD, IM_A, S, M, SM_AD, SM_A, MI_A, SI_A, II_A };
  DirState: enum { D_I, D_S, D_M, D_S_D, D_S_m, D_M_m, D_MI_m, D_SS_m };
  RequestKind: enum { NoRequest, GetS, GetM, PutS, PutM };
  OrderKind: enum { FwdGetS, FwdGetM, Inv, PutAck };
  MemoryKind: enum { MemIdle, MemRead, MemWrite };
  Wanted: enum { Nothing, Load, Store };

  Order: record kind: OrderKind; requestor: Cache; end;

  Copy: record
    state: CacheState;
    value: Value;
    acks: -CACHES..CACHES;
  end;

  Between: record               -- a cache and the directory, for a line
    request: RequestKind;
    requestValue: Value;
    orders: array[0..ORDERS-1] of Order;
    orderCount: 0..ORDERS;
    fromDir: boolean;           -- data, with the InvAcks to expect
    fromDirValue: Value;
    fromDirAcks: Count;
    fromOwner: boolean;
    fromOwnerValue: Value;
    invAcks: Count;
  end;

  DirEntry: record
    state: DirState;
    hasOwner: boolean;
    owner: Cache;
    sharers: array[Cache] of boolean;
    requestor: Cache;
    acks: Count;
    back: boolean;              -- data that was asked back
    backValue: Value;
    memory: MemoryKind;
    writeValue: Value;
    stored: Value;              -- in memory
  end;

var
  copies: array[Cache] of array[Line] of Copy;
  between: array[Cache] of array[Line] of Between;
  dir: array[Line] of DirEntry;
  wanted: array[Cache] of Wanted;
  wantedLine: array[Cache] of Line;
  last: array[Line] of Value;   -- what was stored last

procedure request(c: Cache; l: Line; kind: RequestKind);
begin
  assert between[c][l].request = NoRequest "one request at a time";
  between[c][l].request := kind;
end;

procedure order(c: Cache; l: Line; kind: OrderKind; requestor: Cache);
begin
  assert between[c][l].orderCount < ORDERS "few orders under way";
  between[c][l].orders[between[c][l].orderCount].kind := kind;
  between[c][l].orders[between[c][l].orderCount].requestor := requestor;
  between[c][l].orderCount := between[c][l].orderCount + 1;
end;

procedure pop_order(c: Cache; l: Line);
begin
  for i: 0..ORDERS-2 do
    if i + 1 < between[c][l].orderCount then
      between[c][l].orders[i] := between[c][l].orders[i + 1];
    end;
  end;
  between[c][l].orderCount := between[c][l].orderCount - 1;
  undefine between[c][l].orders[between[c][l].orderCount];
end;

procedure free(c: Cache; l: Line);
begin
  copies[c][l].state := I;
  copies[c][l].acks := 0;
  undefine copies[c][l].value;
end;

procedure pop_request(c: Cache; l: Line);
begin
  between[c][l].request := NoRequest;
  undefine between[c][l].requestValue;
end;

procedure data_from_owner(c: Cache; l: Line; value: Value);
begin
  assert !between[c][l].fromOwner;
  between[c][l].fromOwner := true;
  between[c][l].fromOwnerValue := value;
end;

procedure data_back(l: Line; value: Value);
begin
  assert !dir[l].back;
  dir[l].back := true;
  dir[l].backValue := value;
end;

procedure loaded(c: Cache; l: Line);
begin
  assert copies[c][l].value = last[l] "a load returns what was stored last";
  wanted[c] := Nothing;
  undefine wantedLine[c];
end;

procedure stored(c: Cache; l: Line; value: Value);
begin
  copies[c][l].value := value;
  last[l] := value;
  wanted[c] := Nothing;
  undefine wantedLine[c];
end;

function readers(l: Line): Count;
var n: Count;
begin
  n := 0;
  for c: Cache do
    if dir[l].sharers[c] then n := n + 1; end;
  end;
  return n;
end;

procedure own(c: Cache; l: Line);
begin
  for each: Cache do dir[l].sharers[each] := false; end;
  dir[l].hasOwner := true;
  dir[l].owner := c;
end;

procedure read_memory(c: Cache; l: Line);
begin
  assert dir[l].memory = MemIdle;
  dir[l].requestor := c;
  dir[l].memory := MemRead;
end;

procedure write_memory(l: Line; value: Value);
begin
  assert dir[l].memory = MemIdle;
  dir[l].memory := MemWrite;
  dir[l].writeValue := value;
end;

startstate begin
  for c: Cache do
    wanted[c] := Nothing;
    for l: Line do
      copies[c][l].state := I;
      copies[c][l].acks := 0;
      between[c][l].request := NoRequest;
      between[c][l].orderCount := 0;
      between[c][l].fromDir := false;
      between[c][l].fromOwner := false;
      between[c][l].invAcks := 0;
    end;
  end;
  for l: Line do
    dir[l].state := D_I;
    dir[l].hasOwner := false;
    for c: Cache do dir[l].sharers[c] := false; end;
    dir[l].acks := 0;
    dir[l].back := false;
    dir[l].memory := MemIdle;
    dir[l].stored := 0;
    last[l] := 0;
  end;
end;

-- ------------------------------------------------------------------ the processors

ruleset c: Cache; l: Line do
  rule "begin load" wanted[c] = Nothing ==> begin wanted[c] := Load; wantedLine[c] := l; end;
  rule "begin store" wanted[c] = Nothing ==> begin wanted[c] := Store; wantedLine[c] := l; end;

  rule "load hits"
    wanted[c] = Load & wantedLine[c] = l & (copies[c][l].state = S | copies[c][l].state = M)
  ==> begin loaded(c, l); end;

  rule "load or store misses"
    wanted[c] != Nothing & wantedLine[c] = l & copies[c][l].state = I
    & forall o: Line do copies[c][o].state = I end
  ==> begin
    if wanted[c] = Load then
      copies[c][l].state := IS_D;
      request(c, l, GetS);
    else
      copies[c][l].state := IM_AD;
      request(c, l, GetM);
    end;
  end;

  rule "store asks for more"
    wanted[c] = Store & wantedLine[c] = l & copies[c][l].state = S
  ==> begin
    copies[c][l].state := SM_AD;
    request(c, l, GetM);
  end;

  rule "replacement"
    wanted[c] != Nothing & wantedLine[c] != l & copies[c][wantedLine[c]].state = I
    & (copies[c][l].state = S | copies[c][l].state = M)
  ==> begin
    if copies[c][l].state = S then
      copies[c][l].state := SI_A;
      request(c, l, PutS);
    else
      copies[c][l].state := MI_A;
      request(c, l, PutM);
      between[c][l].requestValue := copies[c][l].value;
    end;
  end;
end;

ruleset c: Cache; l: Line; v: Value do
  rule "store hits" wanted[c] = Store & wantedLine[c] = l & copies[c][l].state = M
  ==> begin stored(c, l, v); end;

  rule "data from the directory"
    between[c][l].fromDir
  ==> begin
    copies[c][l].value := between[c][l].fromDirValue;
    copies[c][l].acks := copies[c][l].acks + between[c][l].fromDirAcks;
    between[c][l].fromDir := false;
    undefine between[c][l].fromDirValue;
    undefine between[c][l].fromDirAcks;
    switch copies[c][l].state
      case IS_D: copies[c][l].state := S; loaded(c, l);
      case IM_AD, SM_AD:
        if copies[c][l].acks = 0 then
          copies[c][l].state := M;
          stored(c, l, v);
        elsif copies[c][l].state = IM_AD then
          copies[c][l].state := IM_A;
        else
          copies[c][l].state := SM_A;
        end;
      else error "data that nobody waits for";
    end;
  end;

  rule "data from the owner"
    between[c][l].fromOwner
  ==> begin
    copies[c][l].value := between[c][l].fromOwnerValue;
    between[c][l].fromOwner := false;
    undefine between[c][l].fromOwnerValue;
    switch copies[c][l].state
      case IS_D: copies[c][l].state := S; loaded(c, l);
      case IM_AD: copies[c][l].state := M; stored(c, l, v);
      else error "data that nobody waits for";
    end;
  end;

  rule "InvAck"
    between[c][l].invAcks > 0
  ==> begin
    between[c][l].invAcks := between[c][l].invAcks - 1;
    copies[c][l].acks := copies[c][l].acks - 1;
    if (copies[c][l].state = IM_A | copies[c][l].state = SM_A) & copies[c][l].acks = 0 then
      copies[c][l].state := M;
      stored(c, l, v);
    end;
  end;
end;

-- ------------------------------------------------------------------ orders of the directory

ruleset c: Cache; l: Line do
  rule "order"
    between[c][l].orderCount > 0
    & !(copies[c][l].state = IS_D & between[c][l].orders[0].kind = Inv)
    & !((copies[c][l].state = IM_AD | copies[c][l].state = IM_A | copies[c][l].state = SM_AD
         | copies[c][l].state = SM_A)
        & (between[c][l].orders[0].kind = FwdGetS | between[c][l].orders[0].kind = FwdGetM))
  ==> begin
    switch between[c][l].orders[0].kind
      case FwdGetS:
        data_from_owner(between[c][l].orders[0].requestor, l, copies[c][l].value);
        data_back(l, copies[c][l].value);
        if copies[c][l].state = M then copies[c][l].state := S;
        elsif copies[c][l].state = MI_A then copies[c][l].state := SI_A;
        else error "FwdGetS to one without the line"; end;
      case FwdGetM:
        data_from_owner(between[c][l].orders[0].requestor, l, copies[c][l].value);
        if copies[c][l].state = M then free(c, l);
        elsif copies[c][l].state = MI_A then copies[c][l].state := II_A;
        else error "FwdGetM to one without the line"; end;
      case Inv:
        between[between[c][l].orders[0].requestor][l].invAcks :=
          between[between[c][l].orders[0].requestor][l].invAcks + 1;
        if copies[c][l].state = S then free(c, l);
        elsif copies[c][l].state = SM_AD then copies[c][l].state := IM_AD;
        elsif copies[c][l].state = SI_A then copies[c][l].state := II_A;
        else error "Inv to one that does not read"; end;
      case PutAck:
        if copies[c][l].state = MI_A | copies[c][l].state = SI_A | copies[c][l].state = II_A then
          free(c, l);
        else error "PutAck without an eviction"; end;
    end;
    pop_order(c, l);
  end;
end;

-- ------------------------------------------------------------------ the directory

ruleset c: Cache; l: Line do
  rule "GetS"
    between[c][l].request = GetS
    & (dir[l].state = D_I | dir[l].state = D_S | dir[l].state = D_M)
  ==> begin
    if dir[l].state = D_M then
      order(dir[l].owner, l, FwdGetS, c);
      dir[l].sharers[dir[l].owner] := true;
      dir[l].hasOwner := false;
      undefine dir[l].owner;
      dir[l].state := D_S_D;
    else
      read_memory(c, l);
      dir[l].state := D_S_m;
    end;
    dir[l].sharers[c] := true;
    pop_request(c, l);
  end;

  rule "GetM"
    between[c][l].request = GetM
    & (dir[l].state = D_I | dir[l].state = D_S | dir[l].state = D_M)
  ==> begin
    if dir[l].state = D_M then
      order(dir[l].owner, l, FwdGetM, c);
    else
      dir[l].sharers[c] := false;
      dir[l].acks := readers(l);
      for reader: Cache do
        if dir[l].sharers[reader] then order(reader, l, Inv, c); end;
      end;
      read_memory(c, l);
      dir[l].state := D_M_m;
    end;
    own(c, l);
    pop_request(c, l);
  end;

  rule "PutS"
    between[c][l].request = PutS
  ==> begin
    if dir[l].state = D_S & dir[l].sharers[c] & readers(l) = 1 then dir[l].state := D_I; end;
    dir[l].sharers[c] := false;
    order(c, l, PutAck, c);
    pop_request(c, l);
  end;

  rule "PutM"
    between[c][l].request = PutM
  ==> begin
    if dir[l].hasOwner & dir[l].owner = c then
      assert dir[l].state = D_M;
      dir[l].hasOwner := false;
      undefine dir[l].owner;
      write_memory(l, between[c][l].requestValue);
      dir[l].state := D_MI_m;
    else
      dir[l].sharers[c] := false;
    end;
    order(c, l, PutAck, c);
    pop_request(c, l);
  end;
end;

ruleset l: Line do
  rule "data asked back"
    dir[l].back
  ==> begin
    assert dir[l].state = D_S_D;
    write_memory(l, dir[l].backValue);
    dir[l].back := false;
    undefine dir[l].backValue;
    dir[l].state := D_SS_m;
  end;

  rule "memory reads"
    dir[l].memory = MemRead
  ==> begin
    between[dir[l].requestor][l].fromDir := true;
    between[dir[l].requestor][l].fromDirValue := dir[l].stored;
    between[dir[l].requestor][l].fromDirAcks := dir[l].acks;
    dir[l].acks := 0;
    undefine dir[l].requestor;
    dir[l].memory := MemIdle;
    dir[l].state := dir[l].state = D_S_m ? D_S : D_M;
  end;

  rule "memory writes"
    dir[l].memory = MemWrite
  ==> begin
    dir[l].stored := dir[l].writeValue;
    undefine dir[l].writeValue;
    dir[l].memory := MemIdle;
    dir[l].state := dir[l].state = D_MI_m ? D_I : D_S;
  end;
end;

invariant "one writer, or readers"
  forall l: Line do forall a: Cache do forall b: Cache do
    a = b | copies[a][l].state != M
    | (copies[b][l].state != M & copies[b][l].state != S)
  end end end;
